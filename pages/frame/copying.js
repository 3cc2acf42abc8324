// A button that copies a link of this app, under the address that the browser knows, and says so.

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button"), said = parentElement.querySelector("span");
  button.title = data.hint;
  said.textContent = data.label;
  button.onclick = async () => {
    const address = new URL(data.page ?? location.pathname, location.href);
    address.search = data.query;
    said.textContent = (await copied(address.href)) ? "Link copied" : address.href;
    setTimeout(() => (said.textContent = data.label), 2500);
  };
}

// Pages without TLS have no clipboard of their own.
async function copied(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const field = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}
