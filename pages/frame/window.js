// Says which of `steps` is the first that the window's width does not exceed, 0 where it exceeds all, and the window's mode, light or dark, when
// they differ from what the run drew and whenever they change: each state once, and while no run is under way, for the rerun would end it and
// drop what it sent to new widgets.

export default function ({ data, parentElement, setStateValue }) {
  const queries = data.steps.map((step) => matchMedia(`(max-width: ${step}px)`)), app = document.querySelector('[data-testid="stApp"]');
  const said = (parentElement.said ??= {});
  const say = () => {
    if (app.dataset.testScriptState !== "notRunning") return;
    const width = data.steps.find((_, place) => queries[place].matches) ?? 0, mode = getComputedStyle(app).colorScheme;
    for (const [name, value] of Object.entries({ width, mode })) {
      if (value === (said[name] ?? data[name])) continue;
      said[name] = value;
      setStateValue(name, value);
    }
  };
  say();
  queries.forEach((query) => query.addEventListener("change", say));
  const changed = new MutationObserver(say); // Streamlit says its mode by a class
  changed.observe(app, { attributeFilter: ["class", "data-test-script-state"] });
  return () => {
    queries.forEach((query) => query.removeEventListener("change", say));
    changed.disconnect();
  };
}
