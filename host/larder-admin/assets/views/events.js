// Events as they happen, newest first, with filters and a pause. Older ones are loaded on request.

import { announce } from "../app/announce.js";
import { get, isAborted } from "../app/api.js";
import { append, attribute, h, replace } from "../app/dom.js";
import { counted } from "../app/format.js";
import { icon } from "../app/icons.js";
import * as live from "../app/live.js";
import { setQuery } from "../app/router.js";
import { loadTeams, suggestProviders } from "../parts/choices.js";
import { createFilters } from "../parts/filters.js";
import { pageHead } from "../parts/page_head.js";
import { empty, failure } from "../parts/states.js";
import { eventTable, matches } from "./event_rows.js";

const KINDS = [
  "load",
  "reload",
  "rejection",
  "removal",
  "notification",
  "fault",
  "refusal",
  "approval",
  "login",
];
const PAGE = 100;
/** How many events stay on the page. */
const MAX_EVENTS = 1000;

export const events = {
  name: "events",
  title: "Events",
  async show(context) {
    const view = build(context);
    const showWaiting = () => (view.isPaused ? showPause(view) : takeWaiting(view));
    view.showSoon = live.soon(showWaiting, context.signal, 100);
    live.on("event", (event) => receive(view, event), context.signal);
    // After a lost connection, what happened in the meantime is loaded.
    live.on("state", (state) => state === "live" && load(view, context.signal), context.signal);
    loadTeams(view.filters, context.signal);
    await load(view, context.signal);
  },
};

function build(context) {
  const view = {
    items: [],
    waiting: [],
    /** What arrived since the last request for the list began: its answer can lack it. */
    arrived: [],
    isPaused: false,
    next: null,
    round: 0,
    values: context.query,
    table: eventTable(),
  };
  view.trouble = h("div", null);
  view.older = h(
    "button",
    { type: "button", hidden: true, on: { click: () => loadOlder(view, context.signal) } },
    "Load older events",
  );
  view.pause = h("button", {
    type: "button",
    "aria-pressed": "false",
    data: { pause: "" },
    on: { click: () => togglePause(view) },
  });
  view.filters = createFilters(
    fields(),
    context.query,
    (values) => {
      view.values = values;
      setQuery(values);
      load(view, context.signal, true);
    },
    context.signal,
  );
  showPause(view);
  const head = pageHead("Events", {
    lead: "Loads, reloads, rejections, notifications, faults and refusals as they happen.",
    actions: [view.pause],
  });
  append(context.root, head, view.filters.element, view.trouble, view.table.element, view.older);
  return view;
}

function fields() {
  return [
    { name: "q", label: "Search", wide: true, placeholder: "Text" },
    {
      name: "kind",
      label: "Kind",
      kind: "select",
      options: [
        ["", "All kinds"],
        ...KINDS.map((kind) => [kind, kind.charAt(0).toUpperCase() + kind.slice(1)]),
      ],
    },
    { name: "provider", label: "Provider", kind: "text", suggest: suggestProviders },
    { name: "team", label: "Team", kind: "select", options: [["", "All teams"]] },
  ];
}

async function load(view, signal, said = false) {
  const round = (view.round += 1);
  view.arrived = [];
  try {
    const { items, next } = await get("events", { ...view.values, limit: PAGE }, signal);
    if (round !== view.round) return;
    const known = new Set(items.map(({ id }) => id));
    const waiting = view.arrived.filter(({ id }) => !known.has(id));
    Object.assign(view, { items, next: next ?? null, waiting });
    if (view.isPaused) show(view);
    else takeWaiting(view);
    if (said) announce(counted(items.length, "event"));
  } catch (error) {
    if (!isAborted(error))
      replace(
        view.trouble,
        failure(error, () => load(view, signal)),
      );
  }
}

async function loadOlder(view, signal) {
  const { round } = view;
  try {
    const { items, next } = await get("events", { ...view.values, limit: PAGE, cursor: view.next }, signal);
    if (round !== view.round) return;
    view.items.push(...items);
    view.next = view.items.length < MAX_EVENTS ? (next ?? null) : null;
    show(view);
  } catch (error) {
    if (!isAborted(error)) replace(view.trouble, failure(error));
  }
}

function receive(view, event) {
  if (!matches(event, view.values)) return;
  for (const list of ["waiting", "arrived"]) view[list] = [event, ...view[list]].slice(0, MAX_EVENTS);
  view.showSoon();
}

function takeWaiting(view) {
  const known = new Set(view.items.map(({ id }) => id));
  const fresh = view.waiting.filter(({ id }) => !known.has(id));
  view.items = [...fresh, ...view.items].slice(0, MAX_EVENTS);
  view.waiting = [];
  show(view);
}

function show(view) {
  view.table.update(view.items);
  view.older.hidden = !view.next;
  replace(
    view.trouble,
    view.items.length === 0
      ? empty("No event matches", "Events appear here as soon as something happens.")
      : null,
  );
  showPause(view);
}

function togglePause(view) {
  view.isPaused = !view.isPaused;
  if (!view.isPaused) takeWaiting(view);
  showPause(view);
  announce(view.isPaused ? "Events are paused" : "Events continue");
}

function showPause(view) {
  const number = view.isPaused && view.waiting.length > 0 ? ` (${view.waiting.length} waiting)` : "";
  attribute(view.pause, "aria-pressed", String(view.isPaused));
  replace(view.pause, icon(view.isPaused ? "play" : "pause"), view.isPaused ? `Continue${number}` : "Pause");
}
