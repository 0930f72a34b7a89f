// Shows JSON as a tree that the keyboard can open and close. What is closed is not built, and a long list is built in
// parts, so that a large value does not block the page.

import { h } from "../app/dom.js";
import { count } from "../app/format.js";
import { data } from "../app/text.js";
import { lazyDetails } from "../parts/lazy_details.js";

const PART = 100;
/** How many entries are open at the start, in all levels together. */
const OPEN = 120;
const OPEN_DEPTH = 3;

/** Returns the tree of a value. */
export function jsonTree(value) {
  const budget = { left: OPEN };
  return h("div", { class: "json" }, node(null, value, 0, budget));
}

function node(key, value, depth, budget) {
  const name =
    key === null
      ? null
      : [
          h(
            "span",
            { class: "json-key" },
            typeof key === "number" ? String(key) : data(JSON.stringify(key), { limit: 200 }),
          ),
          ": ",
        ];
  if (value === null || typeof value !== "object")
    return h("div", { class: "json-row" }, name, scalar(value));
  const length = Array.isArray(value) ? value.length : Object.keys(value).length;
  const sign = Array.isArray(value) ? `[ ${count(length)} ]` : `{ ${count(length)} }`;
  if (length === 0) return h("div", { class: "json-row" }, name, Array.isArray(value) ? "[]" : "{}");
  return branch([name, h("span", { class: "json-sign" }, sign)], value, depth, budget);
}

function branch(summary, value, depth, budget) {
  const children = () => {
    const holder = h("div", { class: "json-children" });
    part(holder, entries(value), 0, depth + 1, budget);
    return holder;
  };
  return lazyDetails(summary, children, { isOpen: depth < OPEN_DEPTH && budget.left > 0 });
}

function entries(value) {
  return Array.isArray(value) ? value.map((item, index) => [index, item]) : Object.entries(value);
}

function part(holder, all, from, depth, budget) {
  const some = all.slice(from, from + PART);
  budget.left -= some.length;
  holder.append(...some.map(([key, value]) => node(key, value, depth, budget)));
  const rest = all.length - from - some.length;
  if (rest === 0) return;
  const more = () => {
    button.remove();
    part(holder, all, from + PART, depth, budget);
  };
  const button = h(
    "button",
    { type: "button", class: "more", on: { click: more } },
    `Show more (${count(rest)} left)`,
  );
  holder.append(button);
}

function scalar(value) {
  const type = value === null ? "null" : typeof value;
  const text = type === "string" ? JSON.stringify(value) : String(value);
  return h("span", { class: `json-${type}` }, data(text, { limit: 500 }));
}
