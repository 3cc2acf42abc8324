"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const find = (name) => document.getElementById(name);
const dark = matchMedia("(prefers-color-scheme: dark)");
const [EPSILON, K, ASKED, MEAN, LOW, HIGH, SEEDS] = [1, 2, 3, 4, 5, 6, 7];
const LINES = { non_private: "no privacy", only_public: "public alone", dp_sgd: "no projection" };
const colour = (pair) => pair[dark.matches ? 1 : 0];
const fixed = (value) => `${value.toFixed(1)} %`;
const interval = (point) => (point[LOW] === null ? "one seed" : `95 % interval ${point[LOW].toFixed(1)} to ${point[HIGH].toFixed(1)}, ${point[SEEDS]} seeds`);

function points(learner, epsilon) {
  return learner.points.filter((point) => point[0] === find("measure").value && (epsilon === undefined || point[EPSILON] === epsilon));
}

function curve(learner, epsilon) {
  return points(learner, epsilon).filter((point) => point[ASKED]).sort((a, b) => a[K] - b[K]);
}

const isPrivate = (learner) => learner.points.some((point) => point[EPSILON] !== null && point[EPSILON] > 0);
const chosen = () => data.learners.find((learner) => learner.name === find("learner").value);
const budget = () => data.budgets[Number(find("epsilon").value)];
const ks = () => [...new Set(data.learners.filter((learner) => learner === chosen()).flatMap((learner) => curve(learner)).map((point) => point[K]))].sort((a, b) => a - b);

function present() {
  const all = points(chosen(), budget()[0]), steps = ks();
  const rule = all.find((point) => !point[ASKED]);
  if (!steps.length || (find("rule").checked && rule)) return rule;
  return all.find((point) => point[ASKED] && point[K] === steps[Number(find("k").value)]);
}

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Labels as [y, text, colour], moved apart until none covers another, within the picture. */
function spread(labels, gap, top, bottom) {
  const sorted = [...labels].sort((a, b) => a[0] - b[0]);
  for (let i = 0; i < sorted.length; i++) sorted[i][0] = Math.max(sorted[i][0], i ? sorted[i - 1][0] + gap : top);
  let limit = bottom;
  for (let i = sorted.length - 1; i >= 0; i--) limit = (sorted[i][0] = Math.min(sorted[i][0], limit)) - gap;
  return sorted;
}

function drawCurves() {
  const narrow = find("curves").clientWidth < 560, width = narrow ? 420 : 900, height = narrow ? 400 : 430;
  const learner = chosen(), [epsilon] = budget(), steps = ks(), here = present();
  const box = { left: 46, right: width - (narrow ? 128 : 190), top: 14, bottom: height - 44 };
  const levels = [];
  for (const other of data.learners) {
    if (!(other.name in LINES) || other === learner) continue;
    const point = points(other).find((one) => !one[ASKED] && (other.name === "dp_sgd" ? one[EPSILON] === epsilon : true));
    if (point) levels.push([point, LINES[other.name], colour(other.colours)]);
  }
  const drawn = [...points(learner), ...levels.map(([point]) => point)];
  const low = Math.max(0, Math.floor((Math.min(...drawn.map((point) => point[LOW] ?? point[MEAN])) - 2) / 5) * 5);
  const high = Math.min(100, Math.ceil((Math.max(...drawn.map((point) => point[HIGH] ?? point[MEAN])) + 1) / 5) * 5);
  const last = steps.length ? steps[steps.length - 1] : 10, first = steps.length ? steps[0] : 1;
  const x = (k) => box.left + 12 + ((Math.log(k) - Math.log(first)) / Math.max(Math.log(last / first), 1e-9)) * (box.right - box.left - 24);
  const y = (value) => box.bottom - ((value - low) / (high - low || 1)) * (box.bottom - box.top);
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const text = (at, up, words, more) => svg.append(element("text", { x: at, y: up, "font-size": 13, fill: "var(--muted)", ...more }, words));
  for (let value = low; value <= high; value += high - low > 40 ? 10 : 5) {
    svg.append(element("line", { x1: box.left, x2: box.right, y1: y(value), y2: y(value), stroke: "var(--grid)" }));
    text(box.left - 6, y(value) + 4, value, { "text-anchor": "end" });
  }
  for (const k of steps) text(x(k), box.bottom + 18, k, { "text-anchor": "middle" });
  text((box.left + box.right) / 2, height - 6, steps.length ? "k, directions kept (log scale)" : "this learner has no k", { "text-anchor": "middle" });
  const labels = [];
  for (const [point, words, shade] of levels) {
    svg.append(element("line", { x1: box.left, x2: box.right, y1: y(point[MEAN]), y2: y(point[MEAN]), stroke: shade, "stroke-width": 1.6, "stroke-dasharray": "6 4" }));
    labels.push([y(point[MEAN]), `${words} ${point[MEAN].toFixed(1)}`, shade, 400]);
  }
  for (const [value, , , light, night] of data.budgets) {
    const line = curve(learner, value), shade = colour([light, night]), bold = value === epsilon;
    // a k without a record breaks the line
    for (let i = 0; i < steps.length - 1; i++) {
      const a = line.find((point) => point[K] === steps[i]), b = line.find((point) => point[K] === steps[i + 1]);
      if (!a || !b) continue;
      if (bold && a[LOW] !== null && b[LOW] !== null)
        svg.append(element("polygon", { points: [[a, HIGH], [b, HIGH], [b, LOW], [a, LOW]].map(([p, end]) => `${x(p[K])},${y(p[end])}`).join(" "), fill: shade, opacity: 0.18 }));
      svg.append(element("line", { x1: x(a[K]), y1: y(a[MEAN]), x2: x(b[K]), y2: y(b[MEAN]), stroke: shade, "stroke-width": bold ? 3 : 1.4, opacity: bold ? 1 : 0.55 }));
    }
    for (const point of line) svg.append(element("circle", { cx: x(point[K]), cy: y(point[MEAN]), r: bold ? 4.5 : 2.5, fill: shade, opacity: bold ? 1 : 0.55 }));
    if (line.length) labels.push([y(line[line.length - 1][MEAN]), `ε = ${value}`, shade, bold ? 700 : 400]);
  }
  for (const [up, words, shade, weight] of spread(labels, 16, box.top, box.bottom))
    text(box.right + 8, up + 4, words, { fill: shade, "font-weight": weight });
  if (here) {
    const at = here[K] && steps.length ? x(Math.min(Math.max(here[K], first), last)) : (box.left + box.right) / 2;
    if (here[LOW] !== null) svg.append(element("line", { x1: at, x2: at, y1: y(here[LOW]), y2: y(here[HIGH]), stroke: "var(--accent)", "stroke-width": 2 }));
    svg.append(element("text", { x: at, y: y(here[MEAN]) + 9, "text-anchor": "middle", "font-size": 27, fill: "var(--accent)", stroke: "var(--surface)", "stroke-width": 1 }, "★"));
  }
  svg.setAttribute("aria-label", find("answer").innerText);
  find("curves").replaceChildren(svg);
  find("curves-words").textContent = `${learner.title}: ${learner.idea} The star is your choice, the band its 95 % interval over seeds. A gap in a line means: not measured.`;
}

function drawLearners() {
  const narrow = find("learners").clientWidth < 560, width = narrow ? 420 : 900, [epsilon] = budget();
  const rows = data.learners
    .map((learner) => [learner, points(learner).filter((point) => !point[ASKED] && (point[EPSILON] === epsilon || !isPrivate(learner)))[0]])
    .filter(([, point]) => point)
    .sort((a, b) => b[1][MEAN] - a[1][MEAN]);
  find("learners").parentElement.hidden = rows.length < 2;
  if (rows.length < 2) return;
  const height = 30 * rows.length + 30, left = narrow ? 178 : 300, right = width - 64;
  const low = Math.floor(Math.min(...rows.map(([, point]) => point[LOW] ?? point[MEAN])) / 10) * 10;
  const x = (value) => left + ((value - low) / (100 - low || 1)) * (right - left);
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Learners at ε = ${epsilon}` });
  rows.forEach(([learner, point], place) => {
    const up = 18 + 30 * place, shade = colour(learner.colours), bold = learner === chosen();
    svg.append(element("text", { x: left - 10, y: up + 5, "text-anchor": "end", "font-size": narrow ? 12 : 14, "font-weight": bold ? 700 : 400, fill: "var(--text)" }, learner.title));
    svg.append(element("line", { x1: left, x2: right, y1: up, y2: up, stroke: "var(--grid)" }));
    if (point[LOW] !== null) svg.append(element("line", { x1: x(point[LOW]), x2: x(point[HIGH]), y1: up, y2: up, stroke: shade, "stroke-width": 3 }));
    svg.append(element("circle", { cx: x(point[MEAN]), cy: up, r: 6, fill: shade }));
    svg.append(element("text", { x: right + 8, y: up + 5, "font-size": 13, fill: "var(--text)" }, fixed(point[MEAN])));
  });
  find("learners").replaceChildren(svg);
  find("learners-words").textContent = `All learners at ε = ${epsilon}, with the settings that their rules choose; ${data.measures[find("measure").value]} with 95 % intervals over seeds.`;
}

function draw() {
  const learner = chosen(), steps = ks(), [epsilon, alone, gaussian] = budget();
  const hasRule = points(learner, epsilon).some((point) => !point[ASKED]);
  find("k").max = Math.max(steps.length - 1, 0);
  find("k").parentElement.hidden = !steps.length;
  find("rule").parentElement.hidden = !steps.length || !hasRule;
  const here = present(), byRule = here && !here[ASKED];
  // the first touch of the slider starts near the rule's k
  if (byRule && steps.length) find("k").value = steps.indexOf(steps.reduce((a, b) => (Math.abs(Math.log(b / here[K])) < Math.abs(Math.log(a / here[K])) ? b : a)));
  find("epsilon-value").textContent = epsilon;
  find("k-value").textContent = steps.length ? (byRule ? `${here[K]} (rule)` : steps[Number(find("k").value)]) : "";
  const measure = data.measures[find("measure").value];
  const head = here ? `${fixed(here[MEAN])} ${measure} (${interval(here)}).` : "Not measured at this k and ε.";
  const best = find("measure").value === "accuracy" && learner.best.find(([value]) => value === epsilon)?.[1];
  const risk = isPrivate(learner)
    ? `At ε = ${epsilon} the best attacker who guesses whether you are in the data is right at most ${alone} of the time, instead of 50 %, and at most ${gaussian} if all noise is Gaussian and every row enters every step.`
    : "This learner does not depend on ε.";
  const lines = [head, best && `Which k at ε = ${epsilon}? ${best}`, risk].filter(Boolean);
  find("answer").replaceChildren(...lines.map((words) => Object.assign(document.createElement("p"), { textContent: words })));
  drawCurves();
  drawLearners();
}

const option = (select, value, words) => select.append(Object.assign(document.createElement("option"), { value, textContent: words }));
for (const [name, words] of Object.entries(data.measures)) option(find("measure"), name, words);
for (const learner of data.learners) if (isPrivate(learner)) option(find("learner"), learner.name, learner.title);
if (!find("learner").options.length) for (const learner of data.learners) option(find("learner"), learner.name, learner.title);
const withCurve = data.learners.find((learner) => isPrivate(learner) && curve(learner).length);
if (withCurve) find("learner").value = withCurve.name;
find("epsilon").max = data.budgets.length - 1;
find("epsilon").value = Math.min(1, data.budgets.length - 1);
find("k").max = Math.max(ks().length - 1, 0);
find("k").value = Math.floor(ks().length / 2);
find("rule").checked = points(chosen()).some((point) => !point[ASKED]);
if (data.opening) {
  const [learner, epsilon, k] = data.opening;
  find("learner").value = learner;
  find("epsilon").value = data.budgets.findIndex((budget) => budget[0] === epsilon);
  find("k").max = Math.max(ks().length - 1, 0);
  find("k").value = Math.max(ks().indexOf(k), 0);
  find("rule").checked = k === 0;
}
find("controls").hidden = false;
find("off").hidden = true;
find("k").addEventListener("input", () => { find("rule").checked = false; });
find("controls").addEventListener("input", draw);
dark.addEventListener("change", draw);
addEventListener("resize", draw);
draw();
