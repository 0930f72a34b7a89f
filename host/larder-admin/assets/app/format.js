// Formats numbers, sizes, durations and times for people.

import { h } from "./dom.js";

const INTEGER = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { year: "numeric", month: "short", day: "numeric" });
/** Instead of a value that is not known. */
export const UNKNOWN = "–";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** A number of things. */
export function count(value) {
  if (!isNumber(value)) return UNKNOWN;
  return Math.abs(value) < 100_000 ? INTEGER.format(value) : COMPACT.format(value);
}

/** A number with three digits, such as a rate. */
export function decimal(value) {
  if (!isNumber(value)) return UNKNOWN;
  return Math.abs(value) >= 100_000 ? COMPACT.format(value) : SHORT.format(value);
}

/** A size. */
export function bytes(value) {
  if (!isNumber(value)) return UNKNOWN;
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10));
  return `${SHORT.format(value / 2 ** (10 * power))} ${UNITS[power]}`;
}

/** A share of a whole. */
export function percent(part, whole) {
  if (!isNumber(part) || !isNumber(whole) || whole <= 0) return UNKNOWN;
  return `${SHORT.format((100 * part) / whole)} %`;
}

/** A duration in seconds, from microseconds to days. */
export function seconds(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value === 0) return "0 s";
  if (value < 0.001) return `${SHORT.format(value * 1e6)} µs`;
  if (value < 1) return `${SHORT.format(value * 1000)} ms`;
  if (value < 60) return `${SHORT.format(value)} s`;
  return longDuration(Math.round(value));
}

function longDuration(value) {
  const parts = [
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ];
  const first = parts.findIndex(([, size]) => value >= size);
  let rest = value;
  const texts = [];
  for (const [unit, size] of parts.slice(first, first + 2)) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (number > 0) texts.push(`${number} ${unit}`);
  }
  return texts.join(" ");
}

/** A time of the day without seconds. */
export function minute(date) {
  return MINUTE.format(date);
}

/** A time of the day. */
export function clock(date) {
  return CLOCK.format(date);
}

/** A time as an element: local time, with the day unless it is today; the exact time in UTC is the title. */
export function time(text) {
  const date = new Date(text);
  if (!text || Number.isNaN(date.getTime())) return h("span", null, UNKNOWN);
  const isToday = date.toDateString() === new Date().toDateString();
  const shown = isToday ? CLOCK.format(date) : `${DAY.format(date)}, ${CLOCK.format(date)}`;
  return h("time", { datetime: date.toISOString(), title: date.toISOString() }, shown);
}

/** How long ago a time was, or how long it takes until then. */
export function relative(text) {
  const difference = (Date.now() - new Date(text).getTime()) / 1000;
  if (!Number.isFinite(difference)) return UNKNOWN;
  if (Math.abs(difference) < 1) return "now";
  const duration = seconds(Math.max(1, Math.round(Math.abs(difference))));
  return difference > 0 ? `${duration} ago` : `in ${duration}`;
}

/** A key of the API as words: `p50_seconds` becomes `P50 seconds`. */
export function words(key) {
  const spaced = String(key)
    .replace(/[_-]+/g, " ")
    .trim()
    .replace(/\b(cpu|http|tcp|uri|id)\b/g, (name) => name.toUpperCase());
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

/** A noun with a number: `1 provider`, `2 providers`. */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
