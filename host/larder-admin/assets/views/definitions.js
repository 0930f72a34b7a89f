// Definitions of tools and prompts, as clients see them. The page never calls them.

import { append, h, replace } from "../app/dom.js";
import { words } from "../app/format.js";
import { data } from "../app/text.js";
import { loadTeams } from "../parts/choices.js";
import { createKeyedList } from "../parts/keyed_list.js";
import { lazyDetails } from "../parts/lazy_details.js";
import { createPagedList } from "../parts/paged_list.js";
import { empty } from "../parts/states.js";
import { createTable } from "../parts/table.js";
import { jsonTree } from "../content/json_view.js";
import { catalogFields, catalogHead, entryTexts, providerLink } from "./catalog_nav.js";

export const definitions = {
  tools: view("tools", "Tools", "tool", tool),
  prompts: view("prompts", "Prompts", "prompt", prompt),
};

function view(name, title, noun, item) {
  return {
    name,
    title,
    async show(context) {
      const entries = createKeyedList({ class: "plain entries", label: title, item });
      const nothing = h("div", null);
      const show = (items) => {
        entries.update(items);
        replace(nothing, items.length === 0 ? empty(`No ${noun} matches`, "Change the filter.") : null);
      };
      const list = createPagedList({
        path: name,
        noun,
        context,
        fields: catalogFields,
        body: h("div", null, entries.element, nothing),
        show,
      });
      append(
        context.root,
        catalogHead(name, `Definitions of ${name}, as clients see them. This page never calls them.`),
        list.element,
      );
      loadTeams(list.filters, context.signal);
      await list.load(false);
    },
  };
}

function entryHead(entry, marks = []) {
  return h(
    "div",
    { class: "entry-head" },
    h("h2", { class: "name" }, data(entry.name)),
    marks,
    h("span", { class: "hint" }, providerLink(entry.provider)),
  );
}

function tool(entry) {
  const parts = [
    ["Input", entry.inputSchema],
    ["Output", entry.outputSchema],
    ["Annotations", entry.annotations],
    ["Metadata", entry._meta],
  ];
  return h(
    "article",
    { class: "card entry" },
    entryHead(entry, hints(entry.annotations)),
    entryTexts(entry),
    parts.filter(([, value]) => value).map(([name, value]) => lazyTree(name, value)),
  );
}

/** What the provider says that clients may assume; each hint is true, false or absent. */
function hints(annotations) {
  return Object.entries(annotations ?? {})
    .filter(([key, value]) => key.endsWith("Hint") && typeof value === "boolean")
    .map(([key, value]) => {
      const name = words(
        key
          .replace(/Hint$/, "")
          .replace(/([A-Z])/g, " $1")
          .toLowerCase(),
      );
      return h(
        "span",
        { class: "badge plain" },
        data(value ? name : `Not ${name.toLowerCase()}`, { limit: 40 }),
      );
    });
}

function lazyTree(name, value) {
  return lazyDetails(name, () => jsonTree(value), { class: "tree-holder" });
}

function prompt(entry) {
  const columns = [
    { label: "Argument", cell: (row) => data(row.name) },
    { label: "Required", cell: (row) => (row.required ? "yes" : "no") },
    { label: "Description", cell: (row) => data(row.description ?? row.title ?? "", { limit: 300 }) },
  ];
  const table = createTable({
    caption: "Arguments",
    columns,
    key: (row) => row.name,
    emptyNode: () => h("p", { class: "hint" }, "No arguments"),
  });
  table.update(entry.arguments ?? []);
  return h("article", { class: "card entry" }, entryHead(entry), entryTexts(entry), table.element);
}
