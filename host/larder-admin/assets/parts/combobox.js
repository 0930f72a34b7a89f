// A text field that suggests values: a combobox with a list, for the keyboard as the ARIA practices describe it.
// The suggestions are texts of providers, so they are shown as data.

import { attribute, h, newId, replace } from "../app/dom.js";
import { announce } from "../app/announce.js";
import { isAborted } from "../app/api.js";
import { counted } from "../app/format.js";
import { plain, short } from "../app/text.js";

const DELAY = 200;
const MAX_SHOWN = 100;

/**
 * Creates a field.
 * @param {{label: string, hint?: string|null, signal: AbortSignal, changed: (value: string) => void,
 *   suggest: (value: string, signal: AbortSignal) => Promise<{values: string[], has_more?: boolean}>}} options
 */
export function createCombobox({ label, hint = null, suggest, changed, signal }) {
  const box = createBox(label, hint, changed);
  let timer = null;
  let round = 0;

  async function ask() {
    const own = (round += 1);
    try {
      const { values, has_more: hasMore } = await suggest(box.input.value, signal);
      if (own !== round || document.activeElement !== box.input) return;
      box.open(values.slice(0, MAX_SHOWN), hasMore);
      replace(box.note, hint ?? "");
    } catch (error) {
      if (!isAborted(error)) replace(box.note, hint && `${hint} `, `No suggestions: ${plain(error.message)}`);
    }
  }

  function later(delay) {
    clearTimeout(timer);
    timer = setTimeout(ask, delay);
  }

  const listeners = {
    input: () => {
      changed(box.input.value);
      later(DELAY);
    },
    focus: () => later(0),
    keydown: (event) => keys(event, box, later),
    blur: () => {
      clearTimeout(timer);
      round += 1;
      box.close();
    },
  };
  for (const [event, listener] of Object.entries(listeners)) box.input.addEventListener(event, listener);
  signal.addEventListener("abort", () => clearTimeout(timer));
  return { element: box.element };
}

/** The field with its list, without the requests. */
function createBox(label, hint, changed) {
  const box = { ...createElements(label, hint), values: [], active: -1 };
  const { input, list } = box;

  box.close = () => {
    list.hidden = true;
    box.active = -1;
    attribute(input, "aria-expanded", "false");
    attribute(input, "aria-activedescendant", null);
  };
  box.choose = (value) => {
    input.value = value;
    box.close();
    changed(value);
  };
  box.open = (values, hasMore) => {
    box.values = values;
    replace(
      list,
      values.map((value, at) => option(`${input.id}-${at}`, value, () => box.choose(value))),
    );
    box.close();
    if (values.length === 0) return;
    list.hidden = false;
    attribute(input, "aria-expanded", "true");
    announce(`${counted(values.length, "suggestion")}${hasMore ? ", and more" : ""}`);
  };
  return box;
}

function createElements(label, hint) {
  const id = newId("combobox");
  const name = `Suggestions for ${plain(label)}`;
  const list = h("ul", {
    class: "options",
    id: `${id}-list`,
    role: "listbox",
    "aria-label": name,
    hidden: true,
  });
  const note = h("p", { class: "hint", id: `${id}-hint` }, hint);
  const input = h("input", {
    id,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    "aria-controls": list.id,
    "aria-describedby": note.id,
  });
  const element = h(
    "div",
    { class: "field combobox" },
    h("label", { for: id }, short(label)),
    input,
    list,
    note,
  );
  return { element, input, list, note };
}

function option(id, value, choose) {
  const pick = (event) => {
    // Before the field loses the focus, which closes the list.
    event.preventDefault();
    choose();
  };
  return h(
    "li",
    { id, role: "option", "aria-selected": "false", on: { mousedown: pick } },
    value === "" ? "(empty)" : short(value),
  );
}

function activate(box, index) {
  box.active = index;
  [...box.list.children].forEach((element, at) => attribute(element, "aria-selected", String(at === index)));
  attribute(box.input, "aria-activedescendant", box.list.children[index]?.id ?? null);
  box.list.children[index]?.scrollIntoView({ block: "nearest" });
}

function keys(event, box, later) {
  const last = box.values.length - 1;
  if (box.list.hidden) {
    if (event.key === "ArrowDown") later(0);
    return;
  }
  const next = {
    ArrowDown: box.active === last ? 0 : box.active + 1,
    ArrowUp: box.active <= 0 ? last : box.active - 1,
  }[event.key];
  if (next !== undefined) activate(box, next);
  else if (event.key === "Escape") box.close();
  else if (event.key === "Enter" && box.active >= 0) box.choose(box.values[box.active]);
  else return;
  event.preventDefault();
}
