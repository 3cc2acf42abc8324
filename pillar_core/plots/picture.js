"use strict";
// Accuracy over k as a picture with handles: pull the dot anywhere for k and ε, a curve up or down for ε. The one-file explorer and
// Start draw with it. A value between two measured ones is drawn while you pull, and never read out.

const HIT = 22;
const LEVEL = 30; // units that a hand may rise or fall while it pulls the dot sideways
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Heights of labels, each as near to its own as the gap between neighbours allows, within top and bottom. */
function spread(wanted, gap, top, bottom) {
  const order = wanted.map((_, place) => place).sort((a, b) => wanted[a] - wanted[b]);
  const groups = [];
  for (const place of order) {
    let group = { places: [place], sum: wanted[place] };
    const first = ({ places, sum }) => clamp(sum / places.length - ((places.length - 1) * gap) / 2, top, Math.max(top, bottom - (places.length - 1) * gap));
    while (groups.length && first(groups.at(-1)) + groups.at(-1).places.length * gap > first(group)) {
      const before = groups.pop();
      group = { places: [...before.places, ...group.places], sum: before.sum + group.sum };
    }
    groups.push(group);
    group.first = first(group);
  }
  const heights = [];
  for (const { places, first } of groups) places.forEach((place, turn) => { heights[place] = first + turn * gap; });
  return heights;
}

/** The height of a line of [x, y] at x; flat beyond its ends. */
function heightAt(line, x) {
  const after = line.findIndex(([right]) => right >= x);
  if (after <= 0) return line.at(after < 0 ? -1 : 0)[1];
  const [[x0, y0], [x1, y1]] = [line[after - 1], line[after]];
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}

/**
 * Draws `shown` into `place`: steps (k that were measured), curves ({epsilon, colour, points: {k: {mean, low, high}}}, by rising ε), levels
 * ({mean, words, colour}), epsilon, here ({k, mean, low, high}) and label. Where the dot or a curve is pulled, `moved` gets what changed of {k, epsilon}.
 */
function drawPicture(place, shown, moved) {
  Object.assign(place, { shown, moved });
  if (!place.held) listen(place);
  const narrow = place.clientWidth < 560, width = narrow ? 420 : 900, height = narrow ? 400 : 430;
  const { steps, curves, levels, here } = shown, { k: heldK, epsilon: heldEpsilon } = place.held;
  const size = narrow ? 12.5 : 15, box = { left: 46, right: width - (narrow ? 160 : 205), top: 14, bottom: height - 48 };
  const drawn = [...curves.flatMap((curve) => Object.values(curve.points)), ...levels, ...(here ? [here] : [])];
  const low = Math.max(0, Math.floor((Math.min(...drawn.map((point) => point.low ?? point.mean)) - 2) / 5) * 5);
  const high = Math.min(100, Math.ceil((Math.max(...drawn.map((point) => point.high ?? point.mean)) + 1) / 5) * 5);
  const first = steps[0] ?? 1, last = steps.at(-1) ?? 10;
  const x = (k) => box.left + 12 + (Math.log(k / first) / Math.max(Math.log(last / first), 1e-9)) * (box.right - box.left - 24);
  const y = (value) => box.bottom - ((value - low) / (high - low || 1)) * (box.bottom - box.top);
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": shown.label });
  const text = (at, up, words, more) => svg.append(element("text", { x: at, y: up, "font-size": size, fill: "var(--muted)", ...more }, words));
  for (let value = low; value <= high; value += high - low > 40 ? 10 : 5) {
    svg.append(element("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), stroke: "var(--grid)" }));
    text(box.left - 6, y(value) + 4, value, { "text-anchor": "end" });
  }
  for (const k of steps) text(x(k), box.bottom + 18, k, { "text-anchor": "middle" });
  text((box.left + box.right) / 2, height - 6, steps.length ? "k, directions kept (log scale)" : "this learner has no k", { "text-anchor": "middle" });
  const labels = [];
  for (const { mean, words, colour: shade } of levels) {
    svg.append(element("line", { x1: box.left, x2: box.right, y1: y(mean), y2: y(mean), stroke: shade, "stroke-width": 1.6, "stroke-dasharray": "6 4" }));
    labels.push({ at: y(mean), words: `${words} ${mean.toFixed(1)}`, shade, weight: 400 });
  }
  const lines = curves.map(({ points }) => steps.filter((k) => points[k]).map((k) => [x(k), y(points[k].mean)]));
  curves.forEach(({ epsilon, colour: shade, points }, turn) => {
    const bold = epsilon === shown.epsilon;
    // a k without a record breaks the line
    for (let i = 0; i < steps.length - 1; i++) {
      const [a, b] = [steps[i], steps[i + 1]], [from, to] = [points[a], points[b]];
      if (!from || !to) continue;
      if (bold && from.low !== null && to.low !== null)
        svg.append(element("polygon", { points: `${x(a)},${y(from.high)} ${x(b)},${y(to.high)} ${x(b)},${y(to.low)} ${x(a)},${y(from.low)}`, fill: shade, opacity: 0.18 }));
      svg.append(element("line", { x1: x(a), y1: y(from.mean), x2: x(b), y2: y(to.mean), stroke: shade, "stroke-width": bold && heldEpsilon === undefined ? 3 : 1.4, opacity: bold ? 1 : 0.55 }));
    }
    for (const [at, up] of lines[turn]) svg.append(element("circle", { cx: at, cy: up, r: bold ? 4.5 : 2.5, fill: shade, opacity: bold ? 1 : 0.55 }));
    if (!lines[turn].length) return;
    svg.append(element("polyline", { points: lines[turn].join(" "), class: "handle", "data-pull": "epsilon", "data-epsilon": epsilon, fill: "none", stroke: "transparent", "stroke-width": HIT }));
    labels.push({ at: lines[turn].at(-1)[1], words: `ε = ${epsilon}`, shade, weight: bold ? 700 : 400, epsilon });
  });
  const heights = spread(labels.map(({ at }) => at), 1.3 * size, box.top, box.bottom);
  labels.forEach(({ at, words, shade, weight, epsilon }, turn) => {
    if (Math.abs(heights[turn] - at) > 2)
      svg.append(element("line", { x1: box.right + 1, y1: at, x2: box.right + 12, y2: heights[turn], stroke: shade, opacity: 0.6 }));
    const pulled = epsilon === undefined ? {} : { class: "handle", "data-pull": "epsilon", "data-epsilon": epsilon };
    text(box.right + 15, heights[turn] + 4, words, { fill: shade, "font-weight": weight, ...pulled });
  });
  if (here) {
    const own = curves.findIndex(({ epsilon }) => epsilon === shown.epsilon), line = lines[own] ?? [];
    const at = heldK ?? (here.k && steps.length ? x(clamp(here.k, first, last)) : (box.left + box.right) / 2);
    const up = heldEpsilon ?? (heldK === undefined || !line.length ? y(here.mean) : heightAt(line, at));
    if (heldEpsilon !== undefined) bend(svg, lines, own, at, up, curves);
    if (here.low !== null && heldK === undefined && heldEpsilon === undefined)
      svg.append(element("line", { x1: at, x2: at, y1: y(here.low), y2: y(here.high), stroke: "var(--accent)", "stroke-width": 2 }));
    const arrows = `M ${at - 30} ${up} l 10 -7 v 14 z m 60 0 l -10 -7 v 14 z M ${at} ${up - 30} l -7 10 h 14 z m 0 60 l -7 -10 h 14 z`;
    if (steps.length && !place.pulls) svg.append(element("path", { d: arrows, class: "arrows", fill: "var(--accent)" }));
    if (steps.length && !place.isKnown) text(clamp(at, box.left + 40, box.right - 40), up + (up + 60 > box.bottom ? -40 : 48), "drag me", { "text-anchor": "middle", "font-weight": 700, fill: "var(--accent)", class: "call", stroke: "var(--surface)", "stroke-width": 4, "paint-order": "stroke" });
    svg.append(element("circle", { cx: at, cy: up, r: 11, fill: "var(--accent)", stroke: "var(--surface)", "stroke-width": 3 }));
    const values = { "aria-valuemin": 0, "aria-valuemax": Math.max(steps.length - 1, 0), "aria-valuenow": Math.max(steps.indexOf(here.k), 0) };
    const dot = element("circle", { cx: at, cy: up, r: HIT, class: "handle dot", "data-pull": "dot", fill: "transparent", tabindex: 0, role: "slider", ...values });
    dot.setAttribute("aria-label", "k by the left and right arrow, ε by the up and down arrow");
    dot.setAttribute("aria-valuetext", `k = ${here.k}, ε = ${shown.epsilon}: ${here.mean.toFixed(1)} %`);
    if (steps.length) svg.append(dot);
  }
  Object.assign(place, { x, y, lines });
  const hasFocus = place.querySelector(".dot:focus");
  place.replaceChildren(svg);
  if (hasFocus) place.querySelector(".dot")?.focus();
}

/** The curve between two budgets that goes through the hand. */
function bend(svg, lines, own, at, up, curves) {
  const heights = lines.map((line) => (line.length ? heightAt(line, at) : NaN));
  const near = heights.map((value, turn) => [Math.abs(value - up), turn]).filter(([far, turn]) => turn !== own && far >= 0 && (heights[turn] - heights[own]) * (up - heights[own]) > 0);
  const to = near.sort(([a], [b]) => a - b)[0]?.[1];
  const share = to === undefined ? 0 : clamp((up - heights[own]) / (heights[to] - heights[own]), 0, 1);
  const points = lines[own].map(([x, y]) => [x, y + share * ((to === undefined ? y : heightAt(lines[to], x)) - y)]);
  svg.append(element("polyline", { points: points.join(" "), fill: "none", stroke: curves[own].colour, "stroke-width": 3 }));
}

/** Hears the pointer, the finger and the keys, once for each place. */
function listen(place) {
  place.held = {};
  const nearest = (all, wanted) => all.reduce((best, one) => (Math.abs(one[0] - wanted) < Math.abs(best[0] - wanted) ? one : best))[1];
  const under = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(place.querySelector("svg").getScreenCTM().inverse());
  const pull = (event) => {
    const { shown, lines, x, from, pulls } = place, { x: right, y: down } = under(event), isDot = pulls === "dot", held = {}, values = {};
    if (isDot) {
      const measured = shown.steps.filter((k) => shown.curves.find(({ epsilon }) => epsilon === shown.epsilon)?.points[k]);
      held.k = clamp(right, x(measured[0]), x(measured.at(-1)));
      values.k = nearest(measured.map((k) => [x(k), k]), right);
    }
    if (!isDot || Math.abs(down - from.y) > LEVEL) {
      const at = clamp(held.k ?? (shown.here?.k ? x(shown.here.k) : right), x(shown.steps[0]), x(shown.steps.at(-1)));
      const heights = shown.curves.map(({ epsilon }, turn) => [lines[turn].length ? heightAt(lines[turn], at) : Infinity, epsilon]).filter(([up]) => up < Infinity);
      const ends = heights.map(([up]) => up), far = (wanted) => Math.abs(heights.find(([, epsilon]) => epsilon === wanted)[0] - held.epsilon);
      held.epsilon = clamp(down, Math.min(...ends), Math.max(...ends));
      values.epsilon = nearest(heights, held.epsilon);
      // along its own curve the hand is never exact, and others come near
      if (isDot && 2 * far(values.epsilon) > far(shown.epsilon)) values.epsilon = shown.epsilon;
    }
    place.held = held;
    change(values);
  };
  const change = (values) => {
    const { shown, moved } = place, changed = Object.entries(values).filter(([name, value]) => value !== (name === "k" ? shown.here?.k : shown.epsilon));
    place.isKnown = true;
    if (changed.length) moved(Object.fromEntries(changed));
    else drawPicture(place, shown, moved);
  };
  const drop = () => {
    if (!place.pulls) return;
    Object.assign(place, { pulls: "", held: {} });
    drawPicture(place, place.shown, place.moved);
  };
  place.addEventListener("pointerdown", (event) => {
    const pulled = event.target.closest("[data-pull]");
    if (!pulled) return;
    event.preventDefault();
    place.setPointerCapture(event.pointerId);
    Object.assign(place, { pulls: pulled.dataset.pull, from: under(event) });
    if (pulled.dataset.epsilon) change({ epsilon: Number(pulled.dataset.epsilon) });
    else place.querySelector(".dot").focus();
  });
  place.addEventListener("pointermove", (event) => place.pulls && pull(event));
  for (const end of ["pointerup", "pointercancel"]) place.addEventListener(end, drop);
  place.addEventListener("keydown", (event) => {
    const turn = { ArrowLeft: ["k", -1], ArrowRight: ["k", 1], ArrowDown: ["epsilon", -1], ArrowUp: ["epsilon", 1] }[event.key];
    if (!turn || !event.target.closest(".dot")) return;
    event.preventDefault();
    const { shown } = place, [name, step] = turn;
    const all = name === "k" ? shown.steps : shown.curves.filter(({ points }) => Object.keys(points).length).map(({ epsilon }) => epsilon);
    const present = all.indexOf(name === "k" ? shown.here.k : shown.epsilon);
    change({ [name]: all[clamp(present + step, 0, all.length - 1)] });
  });
}
