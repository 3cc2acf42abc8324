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

function drawCurves() {
  const learner = chosen(), [epsilon] = budget(), here = present(), levels = [];
  const parts = ([, , k, , mean, low, high]) => ({ k, mean, low, high });
  for (const other of data.learners) {
    if (!(other.name in LINES) || other === learner) continue;
    const point = points(other).find((one) => !one[ASKED] && (other.name === "dp_sgd" ? one[EPSILON] === epsilon : true));
    if (point) levels.push({ mean: point[MEAN], words: LINES[other.name], colour: colour(other.colours) });
  }
  const shown = {
    steps: ks(),
    curves: data.budgets.map(([value, , , ...colours]) => ({
      epsilon: value,
      colour: colour(colours),
      points: Object.fromEntries(curve(learner, value).map((point) => [point[K], parts(point)])),
    })),
    levels,
    epsilon,
    here: here && parts(here),
    label: find("answer").innerText,
  };
  drawPicture(find("curves"), shown, move);
  find("curves-words").textContent = `${learner.title}: ${learner.idea} Drag the dot: sideways for k, up or down for ε. The band is the 95 % interval over seeds. A gap in a line means: not measured.`;
}

function move({ k, epsilon }) {
  if (epsilon !== undefined) find("epsilon").value = data.budgets.findIndex(([value]) => value === epsilon);
  if (k !== undefined) [find("k").value, find("rule").checked] = [ks().indexOf(k), false];
  draw();
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
    ? `At ε = ${epsilon}: ${gaussian}, if all noise is Gaussian and every row enters every step. ε alone, whatever the learner does, allows ${alone}.`
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
