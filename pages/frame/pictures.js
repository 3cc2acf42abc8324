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

async function done(format, { chart, name, ground }) {
  const node = document.querySelector(`.st-key-${chart} .js-plotly-plot`), { Plotly } = window, { legend } = node._fullLayout;
  const hidden = Math.max(0, (legend?._height || 0) - (legend?._effHeight || 0)); // a legend that scrolls is drawn whole
  const size = { width: node.clientWidth, height: node.clientHeight + hidden, scale: 2 };
  const figure = { data: node.data, layout: { ...node.layout, paper_bgcolor: ground, height: size.height } };
  if (format !== "copy") return void (await Plotly.downloadImage(figure, { ...size, format, filename: name }));
  if (!navigator.clipboard?.write) return "This browser copies on TLS pages only";
  const picture = await (await fetch(await Plotly.toImage(figure, { ...size, format: "png" }))).blob();
  return navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]).then(() => "Copied", () => "Not allowed to copy");
}
