// The navigation inside of the catalog, and what its lists have in common.

import { h } from "../app/dom.js";
import { link } from "../app/router.js";
import { data, short } from "../app/text.js";
import { suggestProviders } from "../parts/choices.js";
import { pageHead } from "../parts/page_head.js";

const VIEWS = [
  ["resources", "Resources"],
  ["templates", "Templates"],
  ["tools", "Tools"],
  ["prompts", "Prompts"],
  ["read", "Read"],
];

/** The head of a view of the catalog. */
export function catalogHead(current, lead) {
  const item = ([view, text]) =>
    h(
      "li",
      null,
      h("a", { href: link(["catalog", view]), "aria-current": view === current ? "page" : null }, text),
    );
  return [
    pageHead("Catalog", { lead }),
    h("nav", { class: "subnav", "aria-label": "Catalog" }, h("ul", null, VIEWS.map(item))),
  ];
}

/** The filters of all lists of the catalog. */
export const catalogFields = [
  { name: "q", label: "Search", wide: true, placeholder: "Name, URI or description" },
  { name: "provider", label: "Provider", kind: "text", suggest: suggestProviders },
  { name: "team", label: "Team", kind: "select", options: [["", "All teams"]] },
];

/** A link to the provider of an entry. */
export function providerLink(name) {
  return name
    ? h("a", { href: link(["providers", name]) }, short(name, 80))
    : h("span", { class: "hint" }, "the server");
}

/** The length of a name in a link. */
export const SHORT = 160;

/** A name that is too long for its link, title and description of an entry. */
export function entryTexts({ name, title, description }) {
  return [
    name && name.length > SHORT ? h("p", { class: "entry-title" }, data(name)) : null,
    title && title !== name ? h("p", { class: "entry-title" }, data(title)) : null,
    description ? h("p", { class: "entry-description" }, data(description, { limit: 300 })) : null,
  ];
}
