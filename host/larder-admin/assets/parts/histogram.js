// A histogram of latencies: a bar for each bucket, as a table whose rows have bars, so that one form serves everybody.

import { h } from "../app/dom.js";
import { count, percent, seconds } from "../app/format.js";
import { empty } from "./states.js";

/**
 * Returns the histogram of `{buckets: [{le, count}], sum_seconds}`. The counts are those of each bucket alone.
 */
export function histogram(latency) {
  const buckets = (latency?.buckets ?? []).map((bucket) => ({ le: bucket.le, count: bucket.count }));
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  if (total === 0) return empty("No calls yet");
  const most = Math.max(...buckets.map((bucket) => bucket.count));
  const shown = withoutEmptyEnds(buckets);
  const rows = shown.map((bucket) => row(bucket, most, total));
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, "Up to"),
    h("th", { scope: "col" }, "Share"),
    h("th", { scope: "col", class: "number" }, "Calls"),
  );
  const table = h(
    "table",
    { class: "histogram", "aria-label": "Calls by latency" },
    h("thead", null, head),
    h("tbody", null, rows),
  );
  const mean =
    Number.isFinite(latency.sum_seconds) &&
    `${count(total)} calls, on average ${seconds(latency.sum_seconds / total)}`;
  return [h("div", { class: "table" }, table), mean && h("p", { class: "hint" }, mean)].filter(Boolean);
}

function row(bucket, most, total) {
  const fill = h("span", { class: "meter-fill" });
  fill.style.setProperty("--share", String(bucket.count / most));
  const limit = Number.isFinite(bucket.le) ? seconds(bucket.le) : "more";
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, limit),
    h(
      "td",
      null,
      h("span", { class: "meter-bar", "aria-hidden": "true" }, fill),
      h("span", { class: "share" }, percent(bucket.count, total)),
    ),
    h("td", { class: "number" }, count(bucket.count)),
  );
}

function withoutEmptyEnds(buckets) {
  const first = buckets.findIndex((bucket) => bucket.count > 0);
  const last = buckets.findLastIndex((bucket) => bucket.count > 0);
  return buckets.slice(first, last + 1);
}
