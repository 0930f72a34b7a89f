// The parts of the view of a provider that only show values.

import { h } from "../app/dom.js";
import { bytes, count, percent, relative, time, words } from "../app/format.js";
import { data, plain } from "../app/text.js";
import { facts, factsOf, shown } from "../parts/facts.js";
import { badge, empty } from "../parts/states.js";
import { createTable } from "../parts/table.js";

/** Revision, digest, origin and signature. */
export function identity({ name, team, revision, since, digest, origin, signature, offers }) {
  const where = origin && (origin.reference ?? origin.file);
  return facts([
    ["Name", data(name)],
    ["Team", team && data(team)],
    ["Version", offers?.version ? data(offers.version) : null],
    [
      "Revision",
      Number.isFinite(revision)
        ? h("span", null, `#${count(revision)}`, since && [", served since ", time(since)])
        : h("span", { class: "hint" }, "none is served"),
    ],
    ["Digest", digest ? h("code", { class: "digest" }, data(digest)) : null],
    [
      "Origin",
      origin && h("span", null, words(origin.kind ?? "unknown"), where ? [": ", data(where)] : null),
    ],
    ["Signature", signature ? shownSignature(signature) : h("span", { class: "hint" }, "not signed")],
  ]);
}

function shownSignature(signature) {
  return signature.by ? h("span", null, "verified: ", data([signature.by].flat().join("; "))) : h("div", null, shown(signature));
}

/** The number of calls by outcome, with bars. */
export function outcomes(found) {
  const all = Object.entries(found ?? {})
    .filter(([, number]) => number > 0)
    .sort((one, other) => other[1] - one[1]);
  const total = all.reduce((sum, [, number]) => sum + number, 0);
  if (total === 0) return empty("No calls yet");
  const row = ([name, number]) => {
    const fill = h("span", { class: `meter-fill ${name === "ok" ? "" : "bad"}`.trim() });
    fill.style.setProperty("--share", String(number / all[0][1]));
    return h(
      "tr",
      null,
      h("th", { scope: "row" }, data(words(name))),
      h(
        "td",
        null,
        h("span", { class: "meter-bar", "aria-hidden": "true" }, fill),
        h("span", { class: "share" }, percent(number, total)),
      ),
      h("td", { class: "number" }, count(number)),
    );
  };
  const head = h(
    "tr",
    null,
    ["Outcome", "Share"].map((text) => h("th", { scope: "col" }, text)),
    h("th", { scope: "col", class: "number" }, "Calls"),
  );
  return h(
    "div",
    { class: "table" },
    h(
      "table",
      { class: "histogram", "aria-label": "Calls by outcome" },
      h("thead", null, head),
      h("tbody", null, all.map(row)),
    ),
  );
}

/** The state of the circuit breaker in a sentence. */
export function breaker(state) {
  if (!state) return h("p", { class: "hint" }, "Nothing is served.");
  const meaning = {
    closed: "Calls reach the provider.",
    open: "Calls are refused, because the last ones only faulted.",
    half_open: "A few calls test whether the provider works again.",
  }[state.state];
  return h(
    "div",
    { class: "stack" },
    h("p", null, badge(state.state), " ", meaning ?? ""),
    facts([
      ["Open until", until(state.until)],
      ["Faults in a row", count(state.failures)],
      ["List refused until", until(state.list_until)],
      ["Search refused until", until(state.search_until)],
    ]),
  );
}

function until(at) {
  return at ? h("span", null, time(at), ` (${relative(at)})`) : null;
}

/** What a provider offers: lists that are empty are left out. */
export function offered(offers) {
  if (!offers) return h("p", { class: "hint" }, "Nothing is served.");
  const some = Object.entries(offers).filter(
    ([key, value]) => value && value.length !== 0 && key !== "version",
  );
  return some.length > 0 ? factsOf(Object.fromEntries(some)) : h("p", { class: "hint" }, "nothing");
}

/** What a provider was granted. */
export function granted({ grants, allowed = [] }) {
  const some = Object.entries(grants ?? {}).filter(([, value]) => value && value.length !== 0);
  if (some.length === 0 && allowed.length === 0) return h("p", { class: "hint" }, "nothing");
  return [
    factsOf(Object.fromEntries(some)),
    allowed.length > 0 && facts([["By configuration", allowed]]),
  ].filter(Boolean);
}

/** The history of revisions. */
export function revisionTable() {
  const columns = [
    {
      label: "Revision",
      cell: (row) =>
        Number.isFinite(row.number) ? `#${count(row.number)}` : h("span", { class: "hint" }, "not served"),
    },
    { label: "State", cell: (row) => badge(row.state) },
    { label: "Loaded", class: "when", cell: (row) => time(row.at) },
    {
      label: "Digest",
      cell: (row) =>
        row.digest
          ? h("code", { class: "digest-start", title: plain(row.digest) }, plain(row.digest, 19))
          : h("span", { class: "hint" }, "unknown"),
    },
    { label: "Size", class: "number", cell: (row) => bytes(row.size) },
    {
      label: "Error",
      cell: (row) => (row.error ? data(row.error, { limit: 300 }) : h("span", { class: "hint" }, "none")),
    },
  ];
  return createTable({
    caption: "Revisions",
    columns,
    key: (row) => `${row.number} ${row.at} ${row.state}`,
    emptyNode: () => empty("No revisions are known"),
  });
}

/** A fault, with what the guest wrote to its stderr. */
export function fault({ at, uri, kind, message, stderr }) {
  const head = h("p", { class: "fault-head" }, badge("fault", words(kind ?? "fault")), " ", time(at));
  const where = uri && h("p", { class: "fault-uri" }, data(uri));
  const text = h("p", null, data(message, { limit: 500 }));
  const output =
    stderr &&
    h(
      "details",
      null,
      h("summary", null, "stderr of the guest"),
      h(
        "pre",
        { tabindex: "0", role: "region", "aria-label": "stderr of the guest" },
        data(stderr, { limit: 8000, lines: true }),
      ),
    );
  return h("article", { class: "fault" }, head, where, text, output);
}
