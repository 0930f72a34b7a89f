// One provider: what it is, what it may do, how its calls went, its log and its faults.

import { get, isAborted } from "../app/api.js";
import { append, h, replace } from "../app/dom.js";
import { decimal, seconds } from "../app/format.js";
import * as live from "../app/live.js";
import { link } from "../app/router.js";
import { data, plain } from "../app/text.js";
import { createChart } from "../parts/chart.js";
import { factsOf, shown } from "../parts/facts.js";
import { histogram } from "../parts/histogram.js";
import { createKeyedList, createSlot } from "../parts/keyed_list.js";
import { pageHead, section } from "../parts/page_head.js";
import { sentence } from "../parts/sentence.js";
import { badge, empty, failure, loading, notice } from "../parts/states.js";
import { breaker, fault, granted, identity, offered, outcomes, revisionTable } from "./provider_parts.js";
import { createLog } from "./provider_log.js";

export const provider = {
  name: "provider",
  title: "Provider",
  async show(context) {
    const [name] = context.parameters;
    context.title(plain(name, 60), "Provider");
    const state = h("span", { data: { state: "" } });
    const head = pageHead(data(name), {
      up: { href: link(["providers"]), text: "Providers" },
      actions: [state],
    });
    const body = h("div", { class: "stack" }, loading());
    append(context.root, head, body);
    const parts = build(name, state, context);
    const load = () => update(parts, body, name, context.signal);
    await load();
    const reload = live.soon(load, context.signal);
    live.on("event", (event) => event.provider === name && reload(), context.signal);
    live.repeat(load, 5000, context.signal);
  },
};

function build(name, state, context) {
  const parts = {
    state: createSlot((value) => [
      badge(value.state),
      value.team && h("span", { class: "hint" }, "team ", data(value.team)),
    ]),
    problems: createSlot(problems),
    identity: createSlot(identity),
    offers: createSlot(offered),
    grants: createSlot(granted),
    requests: createSlot((value) => shown(value)),
    limits: createSlot((value) => (value ? factsOf(value) : h("p", { class: "hint" }, "Nothing is served."))),
    outcomes: createSlot(outcomes),
    latency: createSlot(histogram),
    breaker: createSlot(breaker),
    revisions: revisionTable(),
    faults: createKeyedList({ class: "plain faults", label: "Faults", item: fault }),
    noFaults: createSlot((value) => (value > 0 ? [] : empty("No faults"))),
    charts: charts(),
    log: createLog(name, context),
    trouble: h("div", null),
  };
  state.append(parts.state.element);
  return parts;
}

function charts() {
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
  ];
}

function arrangeParts(parts) {
  const one = ([title, part]) => section(title, part.element);
  const left = [
    ["Identity", parts.identity],
    ["Offers", parts.offers],
    ["Granted", parts.grants],
    ["Requested", parts.requests],
  ].map(one);
  const right = [
    ["Circuit breaker", parts.breaker],
    ["Calls by outcome", parts.outcomes],
    ["Latency of calls", parts.latency],
    ["Limits", parts.limits],
  ].map(one);
  return [
    parts.trouble,
    parts.problems.element,
    h(
      "div",
      { class: "charts" },
      parts.charts.map((chart) => chart.element),
    ),
    h("div", { class: "columns" }, h("div", { class: "stack" }, left), h("div", { class: "stack" }, right)),
    section("Revisions", parts.revisions.element),
    section("Recent faults", parts.noFaults.element, parts.faults.element),
    parts.log.element,
  ];
}

async function update(parts, body, name, signal) {
  try {
    const [value, history] = await Promise.all([
      get(`providers/${encodeURIComponent(name)}`, {}, signal),
      get("history", { provider: name }, signal),
    ]);
    if (!body.contains(parts.trouble)) replace(body, arrangeParts(parts));
    replace(parts.trouble);
    show(parts, value);
    for (const chart of parts.charts) chart.update(history);
  } catch (error) {
    if (isAborted(error)) return;
    const holder = body.contains(parts.trouble) ? parts.trouble : body;
    replace(
      holder,
      failure(error, () => update(parts, body, name, signal)),
    );
  }
}

function show(parts, value) {
  parts.state.update({ state: value.state, team: value.team });
  parts.problems.update(value.problems);
  parts.identity.update({
    name: value.name,
    team: value.team,
    revision: value.revision,
    since: value.since,
    digest: value.digest,
    origin: value.origin,
    signature: value.signature,
    offers: { version: value.offers?.version },
  });
  parts.grants.update({ grants: value.grants, allowed: value.allowed });
  for (const part of ["offers", "requests", "limits", "outcomes", "latency", "breaker"])
    parts[part].update(value[part]);
  parts.revisions.update(value.revisions ?? []);
  parts.faults.update(value.faults ?? []);
  parts.noFaults.update((value.faults ?? []).length);
}

/** Problems are texts, or objects as the overview has them. */
function problems(found) {
  if (!Array.isArray(found)) return [];
  return found.map((problem) => {
    const text = typeof problem === "string" ? problem : problem.text;
    const advice =
      problem.advice && h("p", { class: "advice" }, h("b", null, "Advice: "), sentence(problem.advice));
    return notice(problem.severity === "error" ? "error" : "warning", h("p", null, sentence(text)), advice);
  });
}
