// A button that copies a link of this app, under the address that the browser knows, and says so until one leaves it.

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button"), said = parentElement.querySelector("span");
  const address = new URL(data.page ?? location.pathname, location.href);
  address.search = data.query;
  const offer = () => {
    button.dataset.copied = "";
    said.textContent = data.label;
  };
  button.title = data.hint;
  if (button.dataset.copied !== address.href) offer();
  button.onblur = offer;
  button.onclick = async () => {
    said.textContent = (await copied(address.href)) ? "Link copied" : address.href;
    button.dataset.copied = address.href;
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
