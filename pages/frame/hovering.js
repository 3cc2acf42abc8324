// Shows, beside a chart's point under the pointer or the finger that tapped it, the row's picture, cut out of one sheet.

export default function ({ data: { chart, sheet, size, across }, parentElement }) {
  const picture = parentElement.querySelector("div");
  let node;
  const hide = () => (picture.style.display = "none");
  const show = ({ points: [{ customdata }], event }) => {
    const [left, top] = [customdata % across, Math.floor(customdata / across)].map((place) => -place * size);
    const { clientX, clientY } = event.changedTouches?.[0] ?? event;
    const place = { left: `${Math.min(clientX + 16, innerWidth - 3 * size)}px`, top: `${Math.max(clientY - 3 * size, 0)}px` };
    const cut = { width: `${size}px`, height: `${size}px`, background: `url(${sheet}) ${left}px ${top}px`, transform: "scale(2.5)" };
    Object.assign(picture.style, { display: "block", position: "fixed", zIndex: 1000, pointerEvents: "none", transformOrigin: "0 0" }, cut, place);
  };
  const watch = () => {
    const found = document.querySelector(`.st-key-${chart} .js-plotly-plot`);
    if (found === node || !found?.on) return;
    node = found;
    node.on("plotly_hover", show);
    node.on("plotly_click", show); // a tap is no hover
    node.on("plotly_unhover", hide);
  };
  const timer = setInterval(watch, 300); // the chart is drawn later, and anew
  document.addEventListener("pointerdown", hide, true);
  return () => {
    clearInterval(timer);
    document.removeEventListener("pointerdown", hide, true);
    for (const [event, answer] of [["hover", show], ["click", show], ["unhover", hide]]) node?.removeListener?.(`plotly_${event}`, answer);
  };
}
