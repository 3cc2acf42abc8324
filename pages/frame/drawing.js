// A picture in grey to draw on by mouse, pen or finger, and to shift by the arrow keys; what it holds is said after each change.

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export default function ({ data: { original, present, width, height, alt }, parentElement, setStateValue }) {
  const canvas = parentElement.querySelector("canvas"), [rubber, clear, undo] = parentElement.querySelectorAll("button");
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  const say = () => {
    const { data } = brush.getImageData(0, 0, width, height); // where it was rubbed, the black ground shines through
    const greys = Array.from({ length: width * height }, (_, place) => Math.round((data[4 * place] * data[4 * place + 3]) / 255));
    setStateValue("picture", btoa(String.fromCharCode(...greys)));
  };
  const show = (picture) => {
    const pixels = Array.from(atob(picture), (byte) => byte.charCodeAt(0)).flatMap((grey) => [grey, grey, grey, 255]);
    brush.putImageData(new ImageData(Uint8ClampedArray.from(pixels), width, height), 0, 0);
  };
  const draw = (event) => {
    const box = canvas.getBoundingClientRect(), scale = width / box.width;
    const at = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    brush.globalCompositeOperation = rubber.ariaPressed === "true" ? "destination-out" : "source-over";
    Object.assign(brush, { strokeStyle: "#fff", lineCap: "round", lineWidth: Math.max(1.3, width / 13) });
    brush.stroke(new Path2D(`M ${(event.type === "pointerdown" ? at : canvas.last).join()} L ${at.join()}`));
    canvas.last = at;
  };
  if (canvas.ariaLabel !== alt) {
    Object.assign(canvas, { width, height, ariaLabel: alt });
    show(present);
  }
  canvas.onpointerdown = (event) => { canvas.setPointerCapture(event.pointerId); draw(event); };
  canvas.onpointermove = (event) => event.buttons && draw(event);
  canvas.onpointerup = canvas.onpointercancel = say;
  canvas.onkeydown = (event) => {
    if (!STEPS[event.key]) return;
    event.preventDefault();
    brush.globalCompositeOperation = "copy";
    brush.drawImage(canvas, ...STEPS[event.key]);
    say();
  };
  rubber.onclick = () => { rubber.ariaPressed = String(rubber.ariaPressed !== "true"); };
  clear.onclick = () => { brush.clearRect(0, 0, width, height); say(); };
  undo.onclick = () => { show(original); say(); };
}
