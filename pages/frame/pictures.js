// Buttons that save, copy or print the chart with the key `data.chart`: drawn by Plotly in the browser, on white, with its font inside.

const FORMATS = { png: "PNG", svg: "SVG", copy: "Copy picture", print: "Print or PDF" };
const FAMILY = "Source Sans", SHARPNESS = 2;
const LOOKS = 600, PAUSE = 100;

export default function ({ data, parentElement }) {
  parentElement.querySelector("section").replaceChildren(
    ...Object.entries(FORMATS).map(([format, label]) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      button.onclick = () => done(format, data).then((said) => (button.textContent = said || label));
      return button;
    }),
  );
}

async function done(format, { chart, name, twins }) {
  if (format === "copy" && !navigator.clipboard?.write) return "This browser copies on TLS pages only";
  const node = await drawn(chart);
  if (!node) return "Not drawn yet: press again";
  const { svg, width, height } = await drawing(node, twins);
  if (format === "print") return print(`<title>${name}</title><style>@page { size: ${width}px ${height}px; margin: 0 } body { margin: 0 }</style>${svg}`);
  const vector = new Blob([svg], { type: "image/svg+xml" });
  if (format === "svg") return save(vector, `${name}.svg`);
  const pixels = await raster(vector, width, height);
  if (format === "png") return save(pixels, `${name}.png`);
  return navigator.clipboard.write([new ClipboardItem({ "image/png": pixels })]).then(() => "Copied", () => "Not allowed to copy");
}

// The chart's node; on a busy machine a page is there before its plots are, which are waited for.
async function drawn(chart) {
  for (let looks = 0; looks < LOOKS; looks++) {
    const node = document.querySelector(`.st-key-${chart} .js-plotly-plot`);
    if (node?._fullLayout) return node;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

// The chart as SVG in the colours of the light mode, as large as it is seen; a legend that scrolls is drawn whole.
async function drawing(node, twins) {
  const { legend } = node._fullLayout, width = node.clientWidth;
  const height = node.clientHeight + Math.max(0, (legend?._height || 0) - (legend?._effHeight || 0));
  const { data, layout } = lit({ data: node.data, layout: node.layout }, twins);
  const heading = { font: { family: node._fullLayout.font.family } };
  const figure = { data, layout: { ...layout, height, paper_bgcolor: "#FFFFFF", title: { ...layout.title, ...heading } } };
  const url = await window.Plotly.toImage(figure, { width, height, format: "svg" });
  const svg = decodeURIComponent(url.slice(url.indexOf(",") + 1)).replace(">", `><style>${await face()}</style>`);
  return { svg, width, height };
}

// A figure's part with each colour of `twins`, as #rrggbb or in rgba(), replaced by its twin.
function lit(part, twins) {
  if (Array.isArray(part)) return part.map((item) => lit(item, twins));
  if (part?.constructor === Object) return Object.fromEntries(Object.entries(part).map(([name, item]) => [name, lit(item, twins)]));
  if (typeof part !== "string") return part;
  return part
    .replace(/#[0-9a-f]{6}\b/gi, (colour) => twins[colour.toUpperCase()] ?? colour)
    .replace(/(\d+), ?(\d+), ?(\d+)(?=, ?[\d.]+\))/g, (channels, ...numbers) => {
      const hex = numbers.slice(0, 3).map((number) => Number(number).toString(16).padStart(2, "0")).join("").toUpperCase();
      return twins[`#${hex}`]?.match(/\w\w/g).map((pair) => parseInt(pair, 16)).join(", ") ?? channels;
    });
}

// The page's font as a rule that holds it: outside the page nobody has it.
async function face() {
  const rules = [...document.styleSheets].flatMap((sheet) => (sheet.href && !sheet.href.startsWith(location.origin) ? [] : [...sheet.cssRules]));
  const rule = rules.find(({ style, type }) => type === CSSRule.FONT_FACE_RULE && style.fontFamily.includes(FAMILY) && style.fontStyle !== "italic");
  if (!rule) return "";
  const address = new URL(rule.style.src.match(/url\("?([^")]+)/)[1], rule.parentStyleSheet.href ?? document.baseURI);
  const bytes = await (await fetch(address)).blob();
  const reader = new FileReader();
  await new Promise((resolve) => { reader.onload = resolve; reader.readAsDataURL(bytes); });
  return `@font-face { font-family: "${FAMILY}"; font-weight: 200 900; src: url(${reader.result}) }`;
}

async function raster(vector, width, height) {
  const image = new Image(), canvas = document.createElement("canvas");
  image.src = URL.createObjectURL(vector);
  await image.decode();
  Object.assign(canvas, { width: SHARPNESS * width, height: SHARPNESS * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve));
}

function save(blob, download) {
  Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download }).click();
}

// Prints a page that holds the figure alone: saved as PDF, its lines stay lines and its words stay words.
function print(page) {
  const frame = Object.assign(document.createElement("iframe"), { srcdoc: page, style: "position: fixed; width: 0; height: 0; border: 0" });
  frame.onload = () => {
    frame.contentWindow.onafterprint = () => frame.remove();
    frame.contentDocument.fonts.ready.then(() => frame.contentWindow.print());
  };
  document.body.append(frame);
}
