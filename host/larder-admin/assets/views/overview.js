// The overview: current problems with advice, the most important numbers, and graphs of the last hour.

import { get, isAborted } from "../app/api.js";
import { append, h, replace } from "../app/dom.js";
import { bytes, count, counted, decimal, seconds, time } from "../app/format.js";
import * as live from "../app/live.js";
import { link } from "../app/router.js";
import { createChart } from "../parts/chart.js";
import { factsOf } from "../parts/facts.js";
import { createSlot } from "../parts/keyed_list.js";
import { createMeter } from "../parts/meter.js";
import { pageHead, section } from "../parts/page_head.js";
import { createProblems } from "../parts/problems.js";
import { failure } from "../parts/states.js";
import { createTiles } from "../parts/tiles.js";

const NOT_READY = ["loading", "pending", "rejected", "degraded"];

export const overview = {
  name: "overview",
  title: "Overview",
  async show(context) {
    const parts = build(context.root);
    const show = (value) => {
      parts.tiles.update(tiles(value));
      parts.memory.update(value.memory);
      parts.caches.update(value.caches);
      replace(parts.since, `Version ${value.version}, started `, time(value.started));
      parts.problems.update(value.problems);
    };
    live.on("overview", show, context.signal);
    const load = () => loadAll(parts, show, context);
    await load();
    live.repeat(load, 5000, context.signal);
  },
};

function build(root) {
  const since = h("span", null);
  const problemBox = createProblems();
  const tileBox = createTiles();
  const charts = createCharts();
  const memory = createMemory();
  const caches = createSlot(factsOf);
  const trouble = h("div", null);
  const graphs = h(
    "div",
    { class: "charts" },
    charts.map((chart) => chart.element),
  );
  const more = h(
    "div",
    { class: "columns" },
    section("Memory", memory.element),
    section("Caches", caches.element),
  );
  append(
    root,
    pageHead("Overview", { lead: since }),
    trouble,
    tileBox.element,
    problemBox.element,
    graphs,
    more,
  );
  return { since, problems: problemBox, tiles: tileBox, charts, memory, caches, trouble };
}

async function loadAll(parts, show, { signal }) {
  try {
    const [now, history] = await Promise.all([get("overview", {}, signal), get("history", {}, signal)]);
    show(now);
    for (const chart of parts.charts) chart.update(history);
    replace(parts.trouble);
  } catch (error) {
    if (!isAborted(error)) replace(parts.trouble, failure(error));
  }
}

function createCharts() {
  const rate = (value) => `${decimal(value)}/s`;
  return [
    createChart({
      title: "Calls",
      format: rate,
      series: [
        { key: "calls", label: "calls" },
        { key: "errors", label: "errors" },
      ],
    }),
    createChart({
      title: "Latency",
      format: seconds,
      series: [
        { key: "p50", label: "p50" },
        { key: "p99", label: "p99" },
      ],
    }),
    createChart({ title: "Memory", format: bytes, base: 1024, series: [{ key: "memory", label: "in use" }] }),
    createChart({ title: "Streams", format: count, whole: true, series: [{ key: "streams", label: "open" }] }),
  ];
}

function tiles({ providers, rates, latency, ready, uptime_seconds: uptime, streams, sessions, teams, cluster }) {
  const state = { value: ready ? "Ready" : "Not ready", tone: ready ? "ok" : "error" };
  const errors = { note: `${decimal(rates.errors)}/s errors`, tone: rates.errors > 0 ? "warning" : null };
  return [
    { label: "Server", ...state, note: `for ${seconds(uptime)}` },
    { label: "Providers", ...providerTile(providers), href: link(["providers"]) },
    { label: "Calls", value: `${decimal(rates.calls)}/s`, ...errors },
    {
      label: "Latency p50",
      value: seconds(latency.p50_seconds),
      note: `p99 ${seconds(latency.p99_seconds)}`,
    },
    { label: "Streams", value: count(streams), note: counted(sessions, "session") },
    { label: "Teams", value: count(teams), note: "quotas and callers", href: link(["teams"]) },
    ...(cluster ? [replicaTile(cluster)] : []),
  ];
}

function replicaTile({ connected, replicas, watched, polled }) {
  const note = connected ? `checks ${count(polled)} of ${count(watched)} URIs` : "no connection to NATS";
  return { label: "Replicas", value: count(replicas.length + 1), note, tone: connected ? "ok" : "warning" };
}

function providerTile(providers) {
  const all = Object.values(providers).reduce((sum, number) => sum + number, 0);
  const bad = NOT_READY.filter((state) => providers[state] > 0);
  const note = bad.map((state) => `${count(providers[state])} ${state}`).join(", ") || "all ready";
  const tone = providers.rejected > 0 ? "error" : bad.length > 0 ? "warning" : "ok";
  return { value: count(all), note, tone };
}

/** The budget as a bar, and its uses below. */
function createMemory() {
  const budget = createMeter("Budget", bytes);
  const uses = createSlot(factsOf);
  const element = h("div", { class: "stack" }, budget.element, uses.element);

  function update(memory = {}) {
    budget.update(memory.used ?? 0, memory.limit);
    const each = Object.entries(memory.uses ?? {}).map(([name, value]) => [
      name,
      typeof value === "number" ? bytes(value) : value,
    ]);
    uses.update({ process: bytes(memory.rss), ...Object.fromEntries(each) });
  }
  return { element, update };
}
