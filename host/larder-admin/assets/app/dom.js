// Creates elements. This is the only file that sets attributes, so that its rules hold on the whole page:
// text is never parsed as markup, and no attribute can start a script, load something from elsewhere or leave the page.

const SVG = "http://www.w3.org/2000/svg";

/** Attributes whose values are addresses, and what a value has to begin with. */
const ADDRESSES = { href: ["#"], src: ["blob:"], action: [] };

/**
 * Creates an HTML element.
 * @param {string} tag The name of the element.
 * @param {object|null} props Attributes. `class`, `data` (an object), `on` (listeners by event) and `prop`
 *   (properties of the element) have their own rules; `true` is an empty attribute, `null` and `false` are none.
 * @param {...any} children Nodes, texts, or arrays of both; `null` and `false` are skipped.
 */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Creates an SVG element, as `h` does. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Sets or removes one attribute by the rules of this file. */
export function attribute(element, name, value) {
  const key = name.toLowerCase();
  if (key.startsWith("on") || key === "style" || key === "srcdoc")
    throw new Error(`attribute ${name} is not allowed`);
  if (value === null || value === undefined || value === false) return element.removeAttribute(name);
  const text = value === true ? "" : String(value);
  const begins = ADDRESSES[key];
  if (begins && !begins.some((begin) => text.startsWith(begin)))
    throw new Error(`address of ${name} is not allowed`);
  return element.setAttribute(name, text);
}

/** Replaces the children of an element. */
export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** Adds children to an element, by the rules of `h`. */
export function append(element, ...children) {
  element.append(...nodes(children));
  return element;
}

/** Flattens children to nodes and texts. */
function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === "on") listen(element, value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "prop") Object.assign(element, value);
    else attribute(element, name, value);
  }
  element.append(...nodes(children));
  return element;
}

function listen(element, listeners) {
  for (const [event, listener] of Object.entries(listeners)) element.addEventListener(event, listener);
}

let last = 0;

/** Returns an id that no other element of the page has. */
export function newId(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}
