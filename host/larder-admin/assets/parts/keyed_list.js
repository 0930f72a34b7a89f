// Elements that are updated in place: what did not change keeps its element, and with it focus, selection and whether
// it is open.

import { h, replace } from "../app/dom.js";

/** Puts elements in order in their parent, and moves only those that are not where they belong. */
export function arrange(parent, elements) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  elements.forEach((element, index) => {
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index] ?? null);
  });
}

/**
 * Creates a list in which an entry is built again only when it changed.
 * @param {{tag?: string, class?: string, label?: string, item: (value) => any}} options `item` returns the content.
 */
export function createKeyedList({ tag = "ul", class: name = "plain", label = null, item }) {
  const element = h(tag, { class: name, "aria-label": label });
  let known = new Map();

  function update(values) {
    const next = new Map();
    values.forEach((value, index) => {
      const text = JSON.stringify(value);
      // The same value can occur twice.
      const key = next.has(text) ? `${text}#${index}` : text;
      next.set(key, known.get(key) ?? h("li", null, item(value)));
    });
    known = next;
    arrange(element, [...next.values()]);
  }
  return { element, update };
}

/** Creates a box whose content is built again only when the value that it shows changed. */
export function createSlot(render) {
  const element = h("div", null);
  let last = null;

  function update(value) {
    const text = JSON.stringify(value) ?? "";
    if (text === last) return;
    last = text;
    replace(element, render(value));
  }
  return { element, update };
}
