// A line chart of the last hour as SVG, with a legend, the current values, a reading under the pointer or the arrow
// keys, and the same values as a table.

import { attribute, h, newId, replace, svg } from "../app/dom.js";
import { clock, minute } from "../app/format.js";
import { chartTable } from "./chart_table.js";
import { axisTop, linePaths, pointAt, wholeAxisTop } from "./chart_scale.js";

const HOUR = 3600;
const HEIGHT = 168;
const EDGE = { left: 58, right: 10, top: 10, bottom: 24 };

/**
 * Creates a chart.
 * @param {{title: string, format: (value: number) => string, series: {key: string, label: string}[],
 *   base?: number, whole?: boolean}} options `base` is that of the numbers on the axis: 1024 for sizes. `whole`: the
 *   values are whole numbers.
 */
export function createChart({ title, format, series, base = 10, whole = false }) {
  const { element, picture, reading, plot, table } = createParts(title, series, format);
  const state = { history: null, at: null, width: 600 };
  const topOf = (value) => (whole ? wholeAxisTop(value) : axisTop(value, base));

  const draw = () => state.history && drawAll(picture, state, series, format, topOf);
  const say = () => replace(reading, readings(state, series, format));
  const select = (at) => {
    state.at = at;
    draw();
    say();
  };
  plot.addEventListener("pointermove", (event) => select(indexAt(event, plot, state)));
  plot.addEventListener("pointerleave", () => select(null));
  plot.addEventListener("blur", () => select(null));
  plot.addEventListener("keydown", (event) => moveByKey(event, state, select));
  new ResizeObserver(([entry]) => {
    state.width = Math.max(220, Math.floor(entry.contentRect.width));
    draw();
  }).observe(plot);

  /** Shows the values of `/api/history`. */
  function update(history) {
    state.history = wholeHour(history);
    draw();
    if (state.at === null) say();
    table.update(state.history);
  }
  return { element, update };
}

/** A server that started less than an hour ago has fewer values; the axis is an hour anyway. */
function wholeHour({ step_seconds: step, from, series }) {
  const length = Math.max(0, ...Object.values(series).map((list) => list.length));
  const missing = Math.max(0, Math.round(HOUR / step) - length);
  const before = new Array(missing).fill(null);
  const lists = Object.entries(series).map(([name, list]) => [name, before.concat(list)]);
  const start = new Date(new Date(from).getTime() - missing * step * 1000);
  return { step_seconds: step, from: start.toISOString(), series: Object.fromEntries(lists) };
}

function createParts(title, series, format) {
  const id = newId("chart");
  const names = `${id}-title ${id}-now`;
  const picture = svg("svg", {
    class: "chart-picture",
    role: "img",
    "aria-labelledby": names,
    height: HEIGHT,
  });
  const reading = h("p", { class: "chart-reading", id: `${id}-now`, data: { reading: "" } });
  const label = `${title}: arrow keys read single values`;
  const plot = h("div", { class: "plot", tabindex: "0", role: "group", "aria-label": label }, picture);
  const table = chartTable(title, series, format);
  const caption = h("figcaption", null, h("h2", { id: `${id}-title` }, title), legendOf(series));
  const element = h("figure", { class: "card chart" }, caption, reading, plot, table.element);
  return { element, picture, reading, plot, table };
}

function legendOf(series) {
  const items = series.map((one, at) => h("li", null, key(at), one.label));
  return series.length > 1 && h("ul", { class: "legend", "aria-hidden": "true" }, items);
}

function key(at) {
  return svg(
    "svg",
    { class: "legend-key", viewBox: "0 0 20 8" },
    svg("path", { class: `line line-${at + 1}`, d: "M1 4H19" }),
  );
}

function drawAll(picture, state, series, format, topOf) {
  const { history, width } = state;
  const lists = series.map((one) => history.series[one.key] ?? []);
  const size = { width, height: HEIGHT, ...EDGE, length: Math.max(2, ...lists.map((list) => list.length)) };
  const top = topOf(Math.max(0, ...lists.flat().filter(Number.isFinite)));
  const lines = lists.map((list, at) =>
    linePaths(list, top, size).map((d, part) =>
      svg("path", { class: part === 0 ? `line line-${at + 1}` : `area area-${at + 1}`, d }),
    ),
  );
  attribute(picture, "viewBox", `0 0 ${width} ${HEIGHT}`);
  attribute(picture, "width", width);
  replace(
    picture,
    grid(top, size, format),
    times(history, size),
    lines.map((parts) => parts.toReversed()),
    cursor(state, lists, top, size),
  );
}

function grid(top, size, format) {
  return [0, 0.5, 1].map((share) => {
    const { y } = pointAt(0, top * share, top, size);
    const text = svg(
      "text",
      { class: "tick", x: size.left - 8, y: y + 4, "text-anchor": "end" },
      format(top * share),
    );
    return [svg("path", { class: "grid", d: `M${size.left} ${y}H${size.width - size.right}` }), text];
  });
}

function times(history, size) {
  const shares = size.width < 380 ? [0, 1] : [0, 0.25, 0.5, 0.75, 1];
  return shares.map((share) => {
    const { x } = pointAt(share * (size.length - 1), 0, 1, size);
    const anchor = { 0: "start", 1: "end" }[share] ?? "middle";
    return svg(
      "text",
      { class: "tick", x, y: size.height - 6, "text-anchor": anchor },
      minute(dateAt(history, share * (size.length - 1))),
    );
  });
}

function cursor({ at }, lists, top, size) {
  if (at === null) return [];
  const { x } = pointAt(at, 0, top, size);
  const dots = lists.map((list, index) => {
    if (!Number.isFinite(list[at])) return null;
    const { y } = pointAt(at, list[at], top, size);
    return svg("circle", { class: `dot-${index + 1}`, cx: x, cy: y, r: 3.5 });
  });
  return [svg("path", { class: "cursor", d: `M${x} ${size.top}V${size.height - size.bottom}` }), dots];
}

/** The values at the cursor, or the last known ones. */
function readings({ history, at }, series, format) {
  if (!history) return "";
  const when = at === null ? "now" : clock(dateAt(history, at));
  const parts = series.map(({ key: name, label }) => {
    const list = history.series[name] ?? [];
    const value = at === null ? list.findLast(Number.isFinite) : list[at];
    return h(
      "span",
      { class: "value" },
      h("b", null, Number.isFinite(value) ? format(value) : "–"),
      ` ${label}`,
    );
  });
  return [parts, h("span", { class: "hint" }, when)];
}

function dateAt(history, index) {
  return new Date(new Date(history.from).getTime() + index * history.step_seconds * 1000);
}

function lengthOf({ history }) {
  return Math.max(0, ...Object.values(history?.series ?? {}).map((list) => list.length));
}

function indexAt(event, plot, state) {
  const inner = state.width - EDGE.left - EDGE.right;
  const share = (event.clientX - plot.getBoundingClientRect().left - EDGE.left) / inner;
  const length = lengthOf(state);
  return length === 0 ? null : Math.round(Math.min(1, Math.max(0, share)) * (length - 1));
}

function moveByKey(event, state, select) {
  const last = lengthOf(state) - 1;
  const step = Math.max(1, Math.round(60 / (state.history?.step_seconds ?? 60)));
  const from = state.at ?? last;
  const next = { ArrowLeft: from - step, ArrowRight: from + step, Home: 0, End: last }[event.key];
  if (event.key === "Escape") select(null);
  if (next === undefined || last < 0) return;
  event.preventDefault();
  select(Math.min(last, Math.max(0, next)));
}
