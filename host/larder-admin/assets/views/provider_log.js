// The live log of a provider, with a filter.

import { get, isAborted } from "../app/api.js";
import { h, replace } from "../app/dom.js";
import { time } from "../app/format.js";
import { repeat } from "../app/live.js";
import { data } from "../app/text.js";
import { createFilters } from "../parts/filters.js";
import { section } from "../parts/page_head.js";
import { badge, empty, failure } from "../parts/states.js";

/** How many lines stay on the page. */
const MAX_LINES = 500;
const EVERY = 2000;

/** Creates the log; it loads itself until the view is left. */
export function createLog(name, { signal }) {
  const log = createBox();
  const state = { after: null, query: "", round: 0 };
  const fields = [{ name: "log", label: "Filter the log", wide: true }];
  const filters = createFilters(fields, {}, ({ log: query }) => restart(query), signal);

  async function load() {
    const { round, after, query } = state;
    try {
      const path = `providers/${encodeURIComponent(name)}/log`;
      const { items } = await get(path, { after, q: query, limit: MAX_LINES }, signal);
      // An answer can arrive after the filter changed, or after the next one.
      if (round !== state.round || after !== state.after) return;
      addLines(log, items, state);
      showEmpty(log, query);
    } catch (error) {
      if (!isAborted(error)) replace(log.trouble, failure(error));
    }
  }

  function restart(query) {
    Object.assign(state, { after: null, query, round: state.round + 1 });
    log.lines.replaceChildren();
    load();
  }

  load();
  repeat(load, EVERY, signal);
  return { element: section("Log", filters.element, log.trouble, log.box) };
}

function createBox() {
  const lines = h("ol", { class: "plain" });
  const props = { class: "log", tabindex: "0", role: "log", "aria-live": "off", "aria-label": "Log lines" };
  const box = h("div", { ...props, hidden: true }, lines);
  return { lines, box, trouble: h("div", null, empty("The log is empty")) };
}

function showEmpty({ lines, box, trouble }, query) {
  box.hidden = lines.childElementCount === 0;
  replace(trouble, box.hidden ? empty(query ? "No line matches" : "The log is empty") : null);
}

function addLines({ box, lines }, items, state) {
  if (items.length === 0) return;
  box.hidden = false;
  const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 40;
  const sorted = [...items].sort((one, other) => compare(one.id, other.id));
  state.after = sorted.at(-1).id;
  lines.append(...sorted.slice(-MAX_LINES).map(line));
  while (lines.childElementCount > MAX_LINES) lines.firstElementChild.remove();
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}

function compare(one, other) {
  const isNumber = Number.isFinite(Number(one)) && Number.isFinite(Number(other));
  return isNumber ? Number(one) - Number(other) : String(one).localeCompare(String(other));
}

function line({ at, level, text }) {
  const tone = { error: "error", warn: "warning", warning: "warning", info: "info" }[
    String(level).toLowerCase()
  ];
  return h(
    "li",
    null,
    time(at),
    badge(tone ?? "plain", level ?? "log"),
    data(text, { limit: 1000, lines: true, tag: "span" }),
  );
}
