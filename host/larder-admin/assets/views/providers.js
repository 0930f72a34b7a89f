// The list of providers with a filter and pages.

import { append, h } from "../app/dom.js";
import { count, seconds } from "../app/format.js";
import * as live from "../app/live.js";
import { link } from "../app/router.js";
import { short } from "../app/text.js";
import { loadTeams } from "../parts/choices.js";
import { createPagedList } from "../parts/paged_list.js";
import { pageHead } from "../parts/page_head.js";
import { badge, empty } from "../parts/states.js";
import { createTable } from "../parts/table.js";

const STATES = [
  ["", "All states"],
  ["ready", "Ready"],
  ["degraded", "Degraded"],
  ["loading", "Loading"],
  ["pending", "Pending approval"],
  ["rejected", "Rejected"],
];

export const providers = {
  name: "providers",
  title: "Providers",
  async show(context) {
    const table = createTable({
      caption: "Providers",
      columns: COLUMNS,
      key: (row) => row.name,
      emptyNode: () =>
        empty("No provider matches", "Change the filter, or put a component into the plugins folder."),
    });
    const fields = [
      { name: "q", label: "Search", wide: true, placeholder: "Name" },
      { name: "team", label: "Team", kind: "select", options: [["", "All teams"]] },
      { name: "state", label: "State", kind: "select", options: STATES },
    ];
    const list = createPagedList({
      path: "providers",
      noun: "provider",
      context,
      fields,
      body: table.element,
      show: table.update,
      refresh: 5000,
    });
    append(
      context.root,
      pageHead("Providers", { lead: "Components that are loaded, and those that could not be." }),
      list.element,
    );
    loadTeams(list.filters, context.signal);
    const reload = live.soon(() => list.load(false), context.signal);
    live.on("event", (event) => CHANGES.has(event.kind) && reload(), context.signal);
    await list.load(false);
  },
};

const CHANGES = new Set(["load", "reload", "rejection", "removal", "approval"]);

const COLUMNS = [
  {
    label: "Provider",
    sign: (row) => row.name,
    cell: (row) => h("a", { href: link(["providers", row.name]), class: "name" }, short(row.name)),
  },
  {
    label: "State",
    sign: (row) => [row.state, row.problems],
    cell: (row) => [badge(row.state), problemCount(row.problems)],
  },
  { label: "Offers", sign: (row) => [row.resources, row.templates, row.tools, row.prompts], cell: offers },
  { label: "Calls", class: "number", sign: (row) => row.calls, cell: (row) => count(row.calls) },
  {
    label: "Errors",
    class: "number",
    sign: (row) => row.errors,
    cell: (row) => h("span", { class: row.errors > 0 ? "bad" : null }, count(row.errors)),
  },
  { label: "p50", class: "number", sign: (row) => row.p50_seconds, cell: (row) => seconds(row.p50_seconds) },
  { label: "p99", class: "number", sign: (row) => row.p99_seconds, cell: (row) => seconds(row.p99_seconds) },
];

function problemCount(problems) {
  const number = Array.isArray(problems) ? problems.length : problems;
  return (
    number > 0 && h("span", { class: "hint" }, ` ${count(number)} ${number === 1 ? "problem" : "problems"}`)
  );
}

function offers(row) {
  const parts = [
    ["resource", row.resources],
    ["template", row.templates],
    ["tool", row.tools],
    ["prompt", row.prompts],
  ];
  const some = parts
    .filter(([, number]) => number > 0)
    .map(([noun, number]) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`);
  return some.length > 0 ? some.join(", ") : h("span", { class: "hint" }, "nothing");
}
