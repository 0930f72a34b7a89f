// The head of a view: the way to it, its heading, and a line about it.

import { h } from "../app/dom.js";
import { icon } from "../app/icons.js";

/**
 * Returns the head of a view.
 * @param {any} title The heading, a text or a node.
 * @param {{lead?: any, up?: {href: string, text: string}, actions?: any[]}} options
 */
export function pageHead(title, { lead = null, up = null, actions = [] } = {}) {
  const way =
    up &&
    h("nav", { class: "way", "aria-label": "Breadcrumb" }, h("a", { href: up.href }, icon("back"), up.text));
  const heading = h("h1", { tabindex: "-1" }, title);
  return h(
    "div",
    { class: "page-head" },
    way,
    h("div", { class: "page-title" }, heading, h("div", { class: "actions" }, actions)),
    lead && h("p", { class: "lead" }, lead),
  );
}

/** A part of a view with a heading. */
export function section(title, ...children) {
  return h("section", { class: "card", "aria-label": title }, h("h2", null, title), ...children);
}
