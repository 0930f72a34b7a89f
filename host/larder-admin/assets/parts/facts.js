// Shows names with values: a list of facts. Values of any shape can be given, because providers and later versions of
// the API may add some.

import { h } from "../app/dom.js";
import { bytes, count, decimal, seconds, time, words } from "../app/format.js";
import { data } from "../app/text.js";

const MAX_ITEMS = 100;
const MAX_DEPTH = 4;

/** Returns a list of facts from pairs of a name and a value or node. Pairs whose value is null are left out. */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined);
  return h(
    "dl",
    { class: "facts" },
    known.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, shown(value)))),
  );
}

/** Returns a list of facts of an object, with its keys as words. */
export function factsOf(object) {
  return facts(Object.entries(object ?? {}).map(([key, value]) => named(key, value)));
}

/** Returns what shows a value of any shape. */
export function shown(value, depth = 0) {
  if (value instanceof Node) return value;
  if (value === null || value === undefined || value === "") return h("span", { class: "hint" }, "none");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return number(value);
  if (typeof value !== "object") return data(value);
  if (depth >= MAX_DEPTH) return data(JSON.stringify(value));
  return Array.isArray(value) ? list(value, depth) : nested(value, depth);
}

function list(values, depth) {
  if (values.length === 0) return h("span", { class: "hint" }, "none");
  const items = values.slice(0, MAX_ITEMS).map((value) => h("li", null, shown(value, depth + 1)));
  const more = values.length - items.length;
  return [
    h("ul", { class: "values" }, items),
    more > 0 && h("p", { class: "hint" }, `and ${count(more)} more`),
  ].filter(Boolean);
}

function nested(object, depth) {
  const pairs = Object.entries(object).slice(0, MAX_ITEMS);
  if (pairs.length === 0) return h("span", { class: "hint" }, "none");
  const one = ([key, value]) => {
    const [name, better] = named(key, value);
    return h("div", null, h("dt", null, name), h("dd", null, shown(better, depth + 1)));
  };
  return h("dl", { class: "facts nested" }, pairs.map(one));
}

/** The name and the value of a key of the API: the key says the unit. */
function named(key, value) {
  const name = words(key.replace(/_(seconds|bytes)$/, ""));
  if (typeof value === "number")
    return [
      data(name),
      /_seconds$/.test(key) ? seconds(value) : /bytes|memory|size/.test(key) ? bytes(value) : number(value),
    ];
  if (typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return [data(name), time(value)];
  return [data(name), value];
}

function number(value) {
  return Number.isInteger(value) ? count(value) : decimal(value);
}
