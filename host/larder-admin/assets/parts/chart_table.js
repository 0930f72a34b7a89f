// The values of a chart as a table, one row for each minute. It is built only while it is open.

import { h } from "../app/dom.js";
import { minute, UNKNOWN } from "../app/format.js";
import { createTable } from "./table.js";

/** Creates the table of a chart. */
export function chartTable(title, series, format) {
  const columns = [
    { label: "Time", cell: (row) => row.time },
    ...series.map((one) => ({ label: one.label, class: "number", cell: (row) => row[one.key] })),
  ];
  const table = createTable({ caption: `${title}, mean of each minute`, columns, key: (row) => row.at });
  let last = null;
  const show = () => element.open && last && table.update(rows(last, series, format));
  const scroller = h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title} as a table` },
    table.element,
  );
  const element = h(
    "details",
    { class: "chart-table", on: { toggle: show } },
    h("summary", null, "Show as a table"),
    scroller,
  );

  function update(history) {
    last = history;
    show();
  }
  return { element, update };
}

function rows(history, series, format) {
  const each = Math.max(1, Math.round(60 / history.step_seconds));
  const lists = series.map(({ key }) => [key, history.series[key] ?? []]);
  const length = Math.max(0, ...lists.map(([, list]) => list.length));
  const result = [];
  for (let at = 0; at < length; at += each) {
    const date = new Date(new Date(history.from).getTime() + at * history.step_seconds * 1000);
    const parts = lists.map(([key, list]) => [key, list.slice(at, at + each).filter(Number.isFinite)]);
    if (parts.every(([, known]) => known.length === 0)) continue;
    const values = parts.map(([key, known]) => [key, mean(known, format)]);
    result.push({ at: date.toISOString(), time: minute(date), ...Object.fromEntries(values) });
  }
  return result.toReversed();
}

function mean(known, format) {
  return known.length === 0 ? UNKNOWN : format(known.reduce((sum, value) => sum + value, 0) / known.length);
}
