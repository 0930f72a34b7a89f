// Teams with their quotas, how much of them is used, and their callers by volume.

import { get, isAborted } from "../app/api.js";
import { append, h, replace } from "../app/dom.js";
import { bytes, count, counted, decimal, seconds, words } from "../app/format.js";
import * as live from "../app/live.js";
import { link } from "../app/router.js";
import { data, plain } from "../app/text.js";
import { createMeter } from "../parts/meter.js";
import { pageHead } from "../parts/page_head.js";
import { empty, failure, loading } from "../parts/states.js";
import { createTable } from "../parts/table.js";

export const teams = {
  name: "teams",
  title: "Teams",
  async show(context) {
    const state = h("div", null, loading());
    // A team keeps its card, so that live values do not move the focus.
    const cards = new Map();
    const holder = h("div", { class: "team-cards" });
    async function load() {
      try {
        const { items } = await get("teams", { limit: 500 }, context.signal);
        replace(state, items.length === 0 ? empty("There are no teams") : null);
        showAll(items, cards, holder);
      } catch (error) {
        if (!isAborted(error)) replace(state, failure(error, load));
      }
    }
    append(
      context.root,
      pageHead("Teams", { lead: "Quotas and how much of them is used; callers by volume." }),
      state,
      holder,
    );
    live.repeat(load, 5000, context.signal);
    await load();
  },
};

function showAll(items, cards, holder) {
  const names = new Set(items.map(({ name }) => name));
  for (const [name, card] of cards) if (!names.has(name)) (card.element.remove(), cards.delete(name));
  for (const team of items) {
    if (!cards.has(team.name)) {
      cards.set(team.name, createCard(team.name));
      holder.append(cards.get(team.name).element);
    }
    cards.get(team.name).update(team);
  }
}

function createCard(name) {
  const providers = h("a", { href: link(["providers"], { team: name }) });
  const quotas = h("div", { class: "quotas" });
  const meters = new Map();
  const callers = createTable({
    caption: `Callers of ${plain(name)}`,
    columns: CALLERS,
    key: (row) => `${row.issuer ?? ""} ${row.subject ?? ""}`,
    emptyNode: () => h("p", { class: "hint" }, "No calls yet"),
  });
  const element = h(
    "section",
    { class: "card team", "aria-label": `Team ${plain(name)}`, data: { team: name } },
    h(
      "div",
      { class: "entry-head" },
      h("h2", { class: "name" }, data(name)),
      h("span", { class: "hint" }, providers),
    ),
    quotas,
    h("h3", null, "Callers"),
    callers.element,
  );

  function update(team) {
    const number = Array.isArray(team.providers) ? team.providers.length : team.providers;
    const text = counted(number ?? 0, "provider");
    if (providers.textContent !== text) providers.textContent = text;
    for (const quota of team.quotas ?? []) meterOf(quota, meters, quotas).update(quota.used, quota.limit);
    callers.update(team.callers ?? []);
  }
  return { element, update };
}

function meterOf({ name, unit = "" }, meters, holder) {
  if (!meters.has(name)) {
    const format = formatOf(unit);
    const meter = createMeter(plain(words(name), 60), format);
    meters.set(name, meter);
    holder.append(meter.element);
  }
  return meters.get(name);
}

/** Writes a value with its unit: `bytes`, `bytes per second`, `seconds per second`, `per second`. */
function formatOf(unit) {
  const write = unit.startsWith("bytes") ? bytes : unit.startsWith("seconds") ? seconds : decimal;
  return (value) => write(value) + (unit.endsWith("per second") ? "/s" : "");
}

const CALLERS = [
  {
    label: "Subject",
    cell: (row) =>
      row.subject ? data(row.subject, { limit: 80 }) : h("span", { class: "hint" }, "without a credential"),
  },
  {
    label: "Issuer",
    class: "where",
    cell: (row) =>
      row.issuer ? data(row.issuer, { limit: 80 }) : h("span", { class: "hint" }, "this server"),
  },
  { label: "Calls", class: "number", cell: (row) => count(row.calls) },
  { label: "Sent", class: "number", cell: (row) => bytes(row.bytes) },
];
