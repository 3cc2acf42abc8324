// Draws a figure into one node for as long as its page is shown. The point of the trace whose `meta` is "here" walks to its new place, along
// the curve of its legend group, with the note that says its name. While only that point moves (same `base`), it starts at once and Plotly
// draws the new figure when it has arrived. While you drag k or ε, it goes ahead along the measured curves: training then confirms its place.

const MILLISECONDS = 200, STEPS = 12;
let loading;

export default function ({ data, parentElement }) {
  draw(parentElement, data);
  return () => {
    const node = parentElement.querySelector(".pillar-figure");
    node?.watch?.disconnect();
    node?.sliders?.disconnect();
    if (node) node.Plotly?.purge(node);
  };
}

async function draw(place, { figure, runs, base, config, alt, library }) {
  const node = place.querySelector(".pillar-figure") ?? made(place);
  const { data, layout } = JSON.parse(figure), wanted = {};
  data.push(...runs.data);
  layout.annotations = [...(layout.annotations ?? []), ...runs.annotations];
  const star = data.find((trace) => trace.meta === "here"), from = node.star;
  Object.assign(node, { wanted, star });
  node.style.minHeight = `${layout.height}px`;
  node.setAttribute("aria-label", alt);
  const Plotly = (node.Plotly ??= await plotly(library));
  const moves = from && star && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const ahead = moves && node.base === base && walk(node, from, star);
  await Promise.all((ahead || []).map((walking) => walking.finished));
  if (node.wanted === wanted && node.isConnected) {
    const isNewBase = moves && node.base !== base;
    node.base = base;
    await Plotly.react(node, data, layout, config);
    node.stood = stands();
    if (isNewBase) walk(node, from, star).forEach((walking) => walking.finished.then(() => walking.cancel()));
    if (!node.watch) {
      node.watch = new ResizeObserver(() => node.isConnected && Plotly.Plots.resize(node));
      node.watch.observe(node);
      node.sliders = new MutationObserver(() => node.isConnected && lead(node));
      node.sliders.observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });
    }
  }
  (ahead || []).forEach((walking) => walking.cancel());
  (node.leading || []).forEach((leading) => leading.cancel());
}

// What the sliders of k and ε say, beside the page or, in a narrow window, on it.
function stands() {
  return ["k", "epsilon"].map((name) =>
    document.querySelector(`[class*="st-key-control-${name}"] input[type="range"]`)?.getAttribute("aria-valuetext") ?? "");
}

// Puts the star where the sliders' k and ε lie on the measured curves, between two budgets by the logarithm of ε. A slider that did not
// move since the figure was drawn stands for what was trained, which may lie between the values that it offers.
function lead(node) {
  const drawn = node._fullData.find((trace) => trace.meta === "here");
  const [k, epsilon] = stands().map((words, place) =>
    words === node.stood[place] ? Number([drawn?.x[0], drawn?.legendgroup][place]) : Number(words.replace(/,/g, "").replace("∞", "Infinity")));
  const curves = node._fullData.filter((trace) => trace.mode === "lines+markers" && Number(trace.legendgroup) > 0);
  const budgets = curves.map((curve) => Number(curve.legendgroup));
  const above = budgets.findIndex((budget) => budget >= epsilon), [low, high] = [curves[Math.max(above - 1, 0)], curves[above]];
  if (!drawn || !(k > 0) || !high) return;
  const share = above && Math.log(epsilon / budgets[above - 1]) / Math.log(budgets[above] / budgets[above - 1]);
  const isTrained = k === drawn.x[0] && epsilon === Number(drawn.legendgroup);
  const y = isTrained ? drawn.y[0] : (1 - share) * on(low, k) + share * on(high, k);
  (node.leading || []).forEach((leading) => leading.cancel());
  node.star = { ...node.star, x: [k], y: [y], legendgroup: high.legendgroup };
  node.leading = walk(node, node.star, node.star);
}

function made(place) {
  const node = document.createElement("div");
  node.className = "pillar-figure";
  node.setAttribute("role", "figure");
  return place.appendChild(node);
}

// Plotly as a chart of the page has brought it, else as the server has it beside the app's pages.
async function plotly(library) {
  if (!window.Plotly) {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      Object.assign(script, { src: new URL(library, document.baseURI), onload: resolve, onerror: reject });
      document.head.append(script);
    });
    await loading;
  }
  return window.Plotly;
}

// Starts the star and its note on their way, and returns both animations; none in a figure that was taken down meanwhile.
function walk(node, from, to) {
  if (!node._fullLayout) return [];
  const { xaxis, yaxis } = node._fullLayout, traces = node._fullData;
  const curve = traces.find((one) => one.legendgroup === to.legendgroup && one.mode === "lines+markers");
  const [x0, y0, x1, y1] = [from.x[0], from.y[0], to.x[0], to.y[0]];
  const places = Array.from({ length: STEPS + 1 }, (_, step) => {
    const share = step / STEPS, x = x0 ** (1 - share) * x1 ** share;
    const bend = curve && from.legendgroup === to.legendgroup ? on(curve, x) - on(curve, x0) - share * (on(curve, x1) - on(curve, x0)) : 0;
    return [xaxis.d2p(x), yaxis.d2p(y0 + share * (y1 - y0) + bend)];
  });
  const drawn = traces.find((one) => one.meta === "here"), timing = { duration: MILLISECONDS, easing: "ease-out", fill: "forwards" };
  const [x, y] = [xaxis.d2p(drawn.x[0]), yaxis.d2p(drawn.y[0])];
  const note = [...node.querySelectorAll(".annotation")].find((one) => one.textContent.includes(drawn.name));
  const parts = [[node.querySelector(`.trace${drawn.uid} .point`), 0, 0], [note, x, y]].filter(([part]) => part);
  return parts.map(([part, left, up]) =>
    part.animate(places.map(([right, down]) => ({ transform: `translate(${right - left}px, ${down - up}px)` })), timing));
}

// The height of a curve at x, on a logarithmic axis; flat beyond its ends.
function on(curve, x) {
  const after = Array.from(curve.x).findIndex((one) => one >= x);
  if (after <= 0) return curve.y[after < 0 ? curve.y.length - 1 : 0];
  const share = Math.log(x / curve.x[after - 1]) / Math.log(curve.x[after] / curve.x[after - 1]);
  return curve.y[after - 1] + share * (curve.y[after] - curve.y[after - 1]);
}
