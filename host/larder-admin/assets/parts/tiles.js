// A row of numbers. A tile keeps its element, so that a link in it keeps the focus while its value changes.

import { h } from "../app/dom.js";

/** Creates the row; `update` takes tiles `{label, value, note?, tone?, href?}`. */
export function createTiles() {
  const element = h("ul", { class: "tiles", "aria-label": "Numbers" });
  const known = new Map();

  function update(tiles) {
    for (const tile of tiles) {
      if (!known.has(tile.label)) known.set(tile.label, append(element, tile));
      refresh(known.get(tile.label), tile);
    }
  }
  return { element, update };
}

function append(list, { label, href }) {
  const parts = { value: h("span", { class: "tile-value" }), note: h("span", { class: "tile-note" }) };
  const content = [h("span", { class: "tile-label" }, label), parts.value, parts.note];
  parts.tile = h(
    "li",
    { class: "tile", data: { tile: label } },
    href ? h("a", { href }, content) : h("div", null, content),
  );
  list.append(parts.tile);
  return parts;
}

function refresh(parts, { value, note, tone }) {
  if (parts.value.textContent !== value) parts.value.textContent = value;
  if (parts.note.textContent !== (note ?? "")) parts.note.textContent = note ?? "";
  parts.tile.className = `tile ${tone ?? ""}`.trim();
}
