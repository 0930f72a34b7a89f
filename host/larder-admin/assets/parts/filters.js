// A row of filters over a list: search fields and selections. A change is reported after a short pause in typing.

import { h, newId, replace } from "../app/dom.js";
import { plain } from "../app/text.js";

const DELAY = 200;

/**
 * Creates filters.
 * @param {{name: string, label: string, kind?: "search"|"select"|"text", options?: [string, string][],
 *   suggest?: (text: string, signal: AbortSignal) => Promise<string[]>, wide?: boolean}[]} fields
 * @param {object} values The values at the start, by name.
 * @param {(values: object) => void} changed Called with all values.
 */
export function createFilters(fields, values, changed, signal) {
  let timer = null;
  const inputs = new Map();
  const read = () => Object.fromEntries([...inputs].map(([name, input]) => [name, input.value.trim()]));
  const later = (delay) => {
    clearTimeout(timer);
    timer = setTimeout(() => changed(read()), delay);
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  const parts = fields.map((field) => {
    const { element, input } = fieldParts(field, values[field.name] ?? "", signal);
    inputs.set(field.name, input);
    input.addEventListener(field.kind === "select" ? "change" : "input", () =>
      later(field.kind === "select" ? 0 : DELAY),
    );
    return element;
  });
  const submit = (event) => {
    event.preventDefault();
    later(0);
  };
  const element = h("form", { class: "filters", role: "search", on: { submit } }, parts);
  return { element, read, input: (name) => inputs.get(name) };
}

function fieldParts(field, value, signal) {
  const id = newId("filter");
  const label = h("label", { for: id }, field.label);
  const input =
    field.kind === "select" ? selection(id, field.options, value) : textInput(id, field, value, signal);
  return { element: h("div", { class: field.wide ? "field wide" : "field" }, label, input), input };
}

function selection(id, options, value) {
  const select = h("select", { id });
  fillOptions(select, options, value);
  return select;
}

/** Replaces the options of a selection and keeps the value. */
export function fillOptions(select, options, value = select.value) {
  const known = options.some(([option]) => option === value) ? options : [...options, [value, value]];
  replace(
    select,
    known.map(([option, text]) => h("option", { value: option }, plain(text, 80))),
  );
  select.value = value;
}

function textInput(id, field, value, signal) {
  const input = h("input", {
    id,
    type: field.kind === "text" ? "text" : "search",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 500,
    placeholder: field.placeholder,
    prop: { value },
  });
  if (field.suggest) addSuggestions(input, field.suggest, signal);
  return input;
}

/** Suggestions of the browser: a list of options that is loaded while the operator types. */
function addSuggestions(input, suggest, signal) {
  const list = h("datalist", { id: newId("suggestions") });
  input.setAttribute("list", list.id);
  let asked = null;
  const ask = async () => {
    if (asked === input.value) return;
    asked = input.value;
    const found = await suggest(input.value, signal).catch(() => []);
    if (asked === input.value)
      replace(
        list,
        found.map((text) => h("option", { value: text })),
      );
  };
  input.addEventListener("focus", ask);
  input.addEventListener("input", ask);
  queueMicrotask(() => input.after(list));
}
