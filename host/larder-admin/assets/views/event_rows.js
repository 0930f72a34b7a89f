// The table of events, and the filter for events that arrive while the page is open.

import { h } from "../app/dom.js";
import { time } from "../app/format.js";
import { link } from "../app/router.js";
import { data, short } from "../app/text.js";
import { factsOf } from "../parts/facts.js";
import { badge } from "../parts/states.js";
import { createTable } from "../parts/table.js";

/** Creates the table. */
export function eventTable() {
  const columns = [
    { label: "Time", class: "when", cell: (row) => time(row.at) },
    { label: "Kind", cell: (row) => badge(row.kind) },
    { label: "Provider", class: "where", cell: where },
    { label: "Event", class: "main", cell: text },
  ];
  // An event never changes.
  const sign = () => "";
  return createTable({
    caption: "Events",
    columns: columns.map((column) => ({ ...column, sign })),
    key: (row) => String(row.id),
  });
}

function where({ provider, team }) {
  if (provider) return h("a", { href: link(["providers", provider]) }, short(provider, 80));
  return team ? data(team) : h("span", { class: "hint" }, "server");
}

function text(row) {
  const hasDetails = row.details && typeof row.details === "object" && Object.keys(row.details).length > 0;
  return [
    data(row.text, { limit: 300 }),
    hasDetails && h("details", null, h("summary", null, "Details"), factsOf(row.details)),
  ];
}

/** Whether an event fits the filters, by the rules of `/api/events`. */
export function matches(event, { q = "", kind = "", team = "", provider = "" }) {
  const has = (value) =>
    String(value ?? "")
      .toLowerCase()
      .includes(q.toLowerCase());
  const fits = (wanted, value) => wanted === "" || wanted === value;
  const texts = [event.text, event.provider, ...Object.values(event.details ?? {})];
  // The server leaves out the name of the default team.
  return (
    fits(kind, event.kind) &&
    fits(team, event.team ?? "default") &&
    fits(provider, event.provider) &&
    (q === "" || texts.some(has))
  );
}
