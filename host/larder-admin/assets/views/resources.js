// The resources of the catalog with search and filter.

import { append, h } from "../app/dom.js";
import { bytes } from "../app/format.js";
import { link } from "../app/router.js";
import { data, short } from "../app/text.js";
import { loadTeams } from "../parts/choices.js";
import { createPagedList } from "../parts/paged_list.js";
import { empty } from "../parts/states.js";
import { createTable } from "../parts/table.js";
import { catalogFields, catalogHead, entryTexts, SHORT, providerLink } from "./catalog_nav.js";
import { intend } from "./read.js";

export const resources = {
  name: "resources",
  title: "Resources",
  async show(context) {
    const table = createTable({
      caption: "Resources",
      columns: COLUMNS,
      key: (row) => `${row.provider} ${row.uri}`,
      emptyNode: () =>
        empty("No resource matches", "Change the filter. Resources of templates are not listed."),
    });
    const list = createPagedList({
      path: "resources",
      noun: "resource",
      context,
      fields: catalogFields,
      body: table.element,
      show: table.update,
    });
    append(
      context.root,
      catalogHead("resources", "What providers list. Select a resource to read it."),
      list.element,
    );
    loadTeams(list.filters, context.signal);
    await list.load(false);
  },
};

const COLUMNS = [
  { label: "Resource", class: "main", cell: resource },
  {
    label: "Type",
    class: "type",
    sign: (row) => row.mimeType,
    cell: (row) =>
      row.mimeType ? data(row.mimeType, { limit: 60 }) : h("span", { class: "hint" }, "not given"),
  },
  { label: "Size", class: "number", sign: (row) => row.size, cell: (row) => bytes(row.size) },
  {
    label: "Provider",
    class: "where",
    sign: (row) => row.provider,
    cell: (row) => providerLink(row.provider),
  },
];

function resource(row) {
  const href = link(["catalog", "read"], { uri: row.uri, team: row.team });
  const anchor = h(
    "a",
    { href, class: "name", on: { click: () => intend(row.uri) } },
    short(row.name || row.uri, SHORT),
  );
  return [anchor, h("p", { class: "uri" }, data(row.uri, { limit: 200 })), entryTexts(row)];
}
