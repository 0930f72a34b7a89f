// The templates of the catalog, each with a form for its variables, which suggests values.

import { post } from "../app/api.js";
import { append, h, replace } from "../app/dom.js";
import { link } from "../app/router.js";
import { data, plain } from "../app/text.js";
import { createCaller } from "../parts/caller.js";
import { createCombobox } from "../parts/combobox.js";
import { loadTeams } from "../parts/choices.js";
import { createKeyedList } from "../parts/keyed_list.js";
import { lazyDetails } from "../parts/lazy_details.js";
import { createPagedList } from "../parts/paged_list.js";
import { empty, notice } from "../parts/states.js";
import { catalogFields, catalogHead, entryTexts, providerLink } from "./catalog_nav.js";
import { expand, variables } from "../content/uri_template.js";
import { intend } from "./read.js";

export const templates = {
  name: "templates",
  title: "Templates",
  async show(context) {
    const caller = createCaller(context.signal);
    const entries = createKeyedList({
      class: "plain entries",
      label: "Templates",
      item: (entry) => template(entry, caller, context.signal),
    });
    const body = h("div", null, entries.element);
    const nothing = h("div", null);
    body.append(nothing);
    const show = (items) => {
      entries.update(items);
      replace(nothing, items.length === 0 ? empty("No template matches", "Change the filter.") : null);
    };
    const list = createPagedList({
      path: "templates",
      noun: "template",
      context,
      fields: catalogFields,
      body,
      show,
    });
    append(
      context.root,
      catalogHead("templates", "Fill in a template to get the URI of a resource."),
      caller.element,
      list.element,
    );
    loadTeams(list.filters, context.signal);
    await list.load(false);
  },
};

function template(entry, caller, signal) {
  const head = h(
    "div",
    { class: "entry-head" },
    h("h2", { class: "name" }, data(entry.name)),
    h("span", { class: "hint" }, providerLink(entry.provider)),
  );
  const uri = h("p", { class: "uri" }, data(entry.uriTemplate, { limit: 300 }));
  const summary = ["Fill in", h("span", { class: "hidden" }, ` ${plain(entry.name)}`)];
  const details = lazyDetails(summary, () => form(entry, caller, signal));
  return h("article", { class: "card entry" }, head, uri, entryTexts(entry), details);
}

function form(entry, caller, signal) {
  const names = variables(entry.uriTemplate);
  if (names === null)
    return notice(
      "warning",
      h("p", null, "This page cannot read the template. Write the URI in the view “Read”."),
    );
  const values = {};
  const result = h("div", { class: "result", "aria-live": "polite" });
  const changed = () => replace(result, expanded(entry, values));
  const fields = names.map(({ name, isList }) => {
    const suggest = (value, stop) => complete({ entry, name, value, values, caller }, stop);
    const hint = isList ? "Several values: divide them with commas." : null;
    return createCombobox({
      label: name,
      hint,
      suggest,
      signal,
      changed: (value) => ((values[name] = value), changed()),
    });
  });
  changed();
  return h(
    "form",
    { class: "template-form", on: { submit: (event) => event.preventDefault() } },
    fields.map((field) => field.element),
    result,
  );
}

function expanded(entry, values) {
  const uri = expand(entry.uriTemplate, values);
  const href = link(["catalog", "read"], { uri, team: entry.team });
  return [
    h("p", { class: "uri" }, data(uri, { limit: 500 })),
    h("a", { class: "button primary", href, on: { click: () => intend(uri) } }, "Read"),
  ];
}

async function complete({ entry, name, value, values, caller }, signal) {
  const context = Object.fromEntries(
    Object.entries(values).filter(([key, text]) => key !== name && text !== ""),
  );
  const answer = await post(
    "complete",
    { template: entry.uriTemplate, variable: name, value, context, caller: caller.value() },
    signal,
  );
  return answer;
}
