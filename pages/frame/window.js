// Says whether the window is as narrow as a phone's, when it is and whenever that changes: each state once, for a rerun that
// follows another at once may drop what the first sent to new widgets.

export default function ({ data, parentElement, setStateValue }) {
  const query = matchMedia("(max-width: 640px)");
  const say = () => {
    if (query.matches === (parentElement.isNarrow ?? data.narrow)) return;
    parentElement.isNarrow = query.matches;
    setStateValue("narrow", query.matches);
  };
  say();
  query.addEventListener("change", say);
  return () => query.removeEventListener("change", say);
}
