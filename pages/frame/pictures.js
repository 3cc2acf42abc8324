// Buttons that save or copy the chart with the key `data.chart`, drawn by Plotly in the browser.

const FORMATS = { png: "PNG", svg: "SVG", copy: "Copy picture" };

export default function ({ data, parentElement }) {
  parentElement.querySelector("section").replaceChildren(
    ...Object.entries(FORMATS).map(([format, label]) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      button.onclick = () => done(format, data).then((said) => (button.textContent = said || label));
      return button;
    }),
  );
}

async function done(format, { chart, name }) {
  const node = document.querySelector(`.st-key-${chart} .js-plotly-plot`), { Plotly } = window;
  const size = { width: node.clientWidth, height: node.clientHeight, scale: 2 };
  if (format !== "copy") return void (await Plotly.downloadImage(node, { ...size, format, filename: name }));
  if (!navigator.clipboard?.write) return "This browser copies on TLS pages only";
  const picture = await (await fetch(await Plotly.toImage(node, { ...size, format: "png" }))).blob();
  return navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]).then(() => "Copied", () => "Not allowed to copy");
}
