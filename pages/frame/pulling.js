// Start's picture: `drawPicture`, and beside it what each place means for some test images and for 400 guesses. The server hears of a new
// place once it stays.

const SETTLES = 400;

export default function ({ data, parentElement, setStateValue }) {
  const find = (name) => parentElement.querySelector(`.${name}`);
  const node = find("curves");
  // what the server heard of last, and what is on its way: an answer to an older place must not move the dot back under the hand
  const heard = JSON.stringify(data.place), known = node.chosen?.sent.indexOf(heard) ?? -1;
  if (known < 0) node.chosen = { ...data.place, sent: [heard] };
  else node.chosen.sent.splice(0, known);
  const { chosen } = node;
  const present = () => data.curves.find(({ epsilon }) => epsilon === chosen.epsilon);

  function show() {
    const here = { k: chosen.k, ...present().points[chosen.k] }, { guesses, truths, classes, tile } = data.tests ?? {};
    const levels = data.levels.map(({ words, colour = present().colour, means }) => ({ words, colour, mean: means[data.curves.indexOf(present())] }));
    const floor = levels[0].mean, gain = here.mean - floor, points = Math.abs(gain).toFixed(Math.abs(gain) < 1 ? 1 : 0);
    const [said, ...more] = [
      `At ε = ${chosen.epsilon} with k = ${chosen.k}: ${here.mean.toFixed(0)} % of test digits are read right,`,
      ` ${points} point${points === "1" ? "" : "s"} ${gain < 0 ? "below" : "above"} training without projection.`,
    ];
    find("said").replaceChildren(Object.assign(document.createElement("b"), { textContent: said }), ...more);
    for (const name of ["hint", "legend"]) find(name).textContent = data[name];
    find("source").textContent = `95 % interval over ${data.seeds} seeds: ${here.low.toFixed(0)} to ${here.high.toFixed(0)}. ${data.source}`;
    drawPicture(node, { steps: data.steps, curves: data.curves, levels, epsilon: chosen.epsilon, here, label: data.label }, move);
    const guessed = guesses?.[chosen.epsilon]?.[chosen.k] ?? [];
    find("tests").replaceChildren(...guessed.map((guess, turn) => {
      const isRight = guess === truths[turn], image = document.createElement("figure");
      const picture = Object.assign(document.createElement("div"), { className: "tile" });
      picture.style.cssText = `background-image: url(${tile}); background-position: ${(100 * turn) / (truths.length - 1)}% 0; background-size: ${100 * truths.length}%`;
      image.className = isRight ? "right" : "wrong";
      image.append(picture, Object.assign(document.createElement("figcaption"), { textContent: `${isRight ? "✓" : "✗"} ${classes[guess]}` }));
      image.title = `A ${classes[truths[turn]]}, read as ${classes[guess]}`;
      return image;
    }));
    find("tally").textContent = guessed.length ? `One run reads ${guessed.filter((guess, turn) => guess === truths[turn]).length} of ${guessed.length} right: the first of each digit.` : "";
    const { words, learned } = present().odds;
    find("promise").textContent = words;
    const { rows, columns } = data.dots, half = (rows * columns) / 2;
    const dots = Array.from({ length: rows * columns }, (_, place) => element("circle", {
      cx: 5 + 10 * Math.floor(place / rows),
      cy: 5 + 10 * (place % rows),
      r: 3.2,
      class: place < half ? "luck" : place < half + learned ? "learned" : "wrong",
    }));
    find("dots").setAttribute("viewBox", `0 0 ${10 * columns} ${10 * rows}`);
    find("dots").replaceChildren(...dots);
  }

  function move(values) {
    Object.assign(chosen, values);
    if (!present().points[chosen.k]) chosen.k = data.steps.find((k) => present().points[k]);
    show();
    clearTimeout(node.settling);
    node.settling = setTimeout(node.settle, SETTLES);
  }

  node.settle = () => {
    if (!node.settling) return;
    clearTimeout(node.settling);
    node.settling = 0;
    const place = { epsilon: chosen.epsilon, k: chosen.k };
    chosen.sent.push(JSON.stringify(place));
    setStateValue("place", place);
  };
  show();
  if (!node.watch) {
    node.watch = new ResizeObserver(() => node.isConnected && node.shown && drawPicture(node, node.shown, node.moved));
    // a hand that lets go may leave the page at once
    node.addEventListener("pointerup", () => node.settle());
  }
  node.watch.observe(node);
  return () => {
    clearTimeout(node.settling);
    node.watch.disconnect();
  };
}
