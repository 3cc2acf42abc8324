// A picture in grey to draw on by mouse, pen or finger, and to shift by the arrow keys; what it holds is said after each change.

export default function ({ data: { original, present, width, height, alt }, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector("canvas"), buttons = parentElement.querySelectorAll("button");
  const brush = canvas.getContext("2d", { willReadFrequently: true }), tool = buttons[0];
  const say = () => {
    const { data } = brush.getImageData(0, 0, width, height); // what was rubbed out lets the black ground through
    const greys = Array.from({ length: width * height }, (_, place) => Math.round((data[4 * place] * data[4 * place + 3]) / 255));
    setStateValue("picture", btoa(String.fromCharCode(...greys)));
  };
  const show = (picture) => {
    const greys = Array.from(atob(picture), (byte) => byte.charCodeAt(0));
    brush.putImageData(new ImageData(Uint8ClampedArray.from(greys.flatMap((grey) => [grey, grey, grey, 255])), width, height), 0, 0);
  };
  const act = (mode, change) => {
    brush.globalCompositeOperation = mode;
    change();
    brush.globalCompositeOperation = "source-over";
  };
  const draw = (event) => act(tool.ariaPressed === "true" ? "destination-out" : "source-over", () => {
    const box = canvas.getBoundingClientRect(), scale = width / box.width;
    const at = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    Object.assign(brush, { strokeStyle: "#fff", lineCap: "round", lineWidth: Math.max(1.3, width / 13) });
    brush.beginPath();
    brush.moveTo(...(canvas.last ?? at));
    brush.lineTo(...at);
    brush.stroke();
    canvas.last = at;
  });
  if (canvas.ariaLabel !== alt) {
    Object.assign(canvas, { width, height, ariaLabel: alt });
    show(present);
  }
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.last = undefined;
    draw(event);
  };
  canvas.onpointermove = (event) => event.buttons && draw(event);
  canvas.onpointerup = canvas.onpointercancel = say;
  canvas.onkeydown = (event) => {
    const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    if (!right && !down) return;
    event.preventDefault();
    act("copy", () => brush.drawImage(canvas, right, down));
    say();
  };
  tool.onclick = () => { tool.ariaPressed = String(tool.ariaPressed !== "true"); };
  buttons[1].onclick = () => { brush.clearRect(0, 0, width, height); say(); };
  buttons[2].onclick = () => { show(original); say(); };
}
