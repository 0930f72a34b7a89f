// A table whose rows are updated in place: a row keeps its element as long as its key stays, and a cell is built again
// only when its value changed, so that focus and selection survive live updates. In narrow windows a row is a card;
// the roles keep the table a table for screen readers then.

import { h, replace } from "../app/dom.js";
import { arrange } from "./keyed_list.js";

/**
 * Creates a table.
 * @param {{caption: string, columns: {label: string, cell: (row) => any, sign?: (row) => any, class?: string}[],
 *   key: (row) => string, emptyNode?: () => Node}} options `sign` returns what a cell depends on, by default its text;
 *   `caption` is the accessible name.
 */
export function createTable({ caption, columns, key, emptyNode = null }) {
  const head = h(
    "tr",
    { role: "row" },
    columns.map((column) =>
      h("th", { role: "columnheader", scope: "col", class: column.class }, column.label),
    ),
  );
  const body = h("tbody", { role: "rowgroup" });
  const table = h(
    "table",
    { role: "table", "aria-label": caption },
    h("thead", { role: "rowgroup" }, head),
    body,
  );
  const nothing = h("div", { hidden: true });
  const element = h("div", { class: "table" }, table, nothing);
  let known = new Map();

  /** Shows these rows. */
  function update(rows) {
    const next = new Map();
    for (const row of rows) next.set(key(row), refresh(known.get(key(row)) ?? newRow(columns), columns, row));
    known = next;
    arrange(
      body,
      [...next.values()].map((one) => one.element),
    );
    table.hidden = rows.length === 0 && emptyNode !== null;
    nothing.hidden = !table.hidden;
    if (table.hidden) replace(nothing, emptyNode());
  }
  return { element, update };
}

function newRow(columns) {
  const cells = columns.map((column, index) => {
    const role = index === 0 ? "rowheader" : "cell";
    return h(index === 0 ? "th" : "td", {
      role,
      scope: index === 0 ? "row" : null,
      class: column.class,
      data: { label: column.label },
    });
  });
  return { element: h("tr", { role: "row" }, cells), cells, signs: [] };
}

function refresh(row, columns, value) {
  columns.forEach((column, index) => {
    const sign = JSON.stringify(column.sign ? column.sign(value) : value) ?? "";
    if (row.signs[index] === sign) return;
    row.signs[index] = sign;
    replace(row.cells[index], h("div", { class: "cell" }, column.cell(value)));
  });
  return row;
}
