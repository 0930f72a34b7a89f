// Shows text of providers as data. Control characters, bidi controls and invisible characters become visible symbols,
// each text is isolated from the direction of its neighbours, and a long text is cut with a button that shows more.

import { h } from "./dom.js";
import { bytes } from "./format.js";

/** How much one click on "Show more" shows, in UTF-16 units. */
const MORE = 20_000;

/** Control characters, what is invisible by default (bidi controls, joiners, fillers, tags), line separators, lone
 *  surrogates, private characters. */
const HIDDEN = /[\p{Cc}\p{DI}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{NChar}\ufff9-\ufffb]/gu;
/** So many marks on one character cover other lines. */
const MARKS = /(\p{M}{6})\p{M}+/gu;
const NAMES = {
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x061c: "Arabic letter mark",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "pop directional isolate",
  0x200b: "zero width space",
  0xfeff: "byte order mark",
  0x0009: "tab",
  0x000a: "line feed",
  0x000d: "carriage return",
  0x2028: "line separator",
  0x2029: "paragraph separator",
};

/** Signs of frequent characters. The symbols of Unicode for control characters are missing in many fonts. */
const SIGNS = { 0x09: "⇥", 0x0a: "↵", 0x0d: "↵" };

/** Cuts a text without dividing a character. */
export function cut(text, limit, from = 0) {
  let end = Math.min(text.length, from + limit);
  if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(from, end);
}

/**
 * Returns an element that shows a text of a provider.
 * @param {any} text The text. Another value is converted.
 * @param {{limit?: number, lines?: boolean, tag?: string, class?: string}} options `limit`: what is shown before the
 *   first click; `lines`: whether line ends and tabs are kept; `tag`: the element inside of which the text is.
 */
export function data(text, { limit = 200, lines = false, tag = "bdi", class: name = "" } = {}) {
  const all = typeof text === "string" ? text : String(text ?? "");
  const holder = h(tag, { class: `data ${lines ? "lines" : ""} ${name}`.trim(), dir: "auto" });
  const shown = cut(all, limit);
  holder.append(...visible(shown, lines));
  if (shown.length === all.length) return holder;
  return h(
    "span",
    { class: lines ? "cut lines" : "cut" },
    holder,
    moreButton(holder, all, shown.length, lines),
  );
}

/** Returns an element that shows the begin of a text of a provider: for links, labels and options, in which a button
 *  could not be used. */
export function short(text, limit = 160) {
  const all = typeof text === "string" ? text : String(text ?? "");
  const holder = data(cut(all, limit), { limit });
  if (all.length > limit) holder.append("…");
  return holder;
}

/** Returns a text of a provider as a plain string for places without markup: attributes, titles, options. */
export function plain(text, limit = 120) {
  const all = typeof text === "string" ? text : String(text ?? "");
  const shown = cut(all, limit)
    .replace(MARKS, "$1")
    .replace(HIDDEN, (found, at, whole) => symbol(found, at, whole).text);
  return shown + (all.length > limit ? "…" : "");
}

/** Converts a text to texts and elements in which nothing is hidden. */
export function visible(text, lines = false) {
  const result = [];
  const clean = text.replace(MARKS, "$1");
  let from = 0;
  for (const match of clean.matchAll(HIDDEN)) {
    const found = match[0];
    if (lines && (found === "\n" || found === "\t")) continue;
    const { text: shown, title } = symbol(found, match.index, clean);
    if (shown === found) continue;
    result.push(clean.slice(from, match.index), h("span", { class: "control", title }, shown));
    from = match.index + found.length;
  }
  result.push(clean.slice(from));
  return result.filter((part) => part !== "");
}

/** The visible form of a hidden character. Joiners and the sign for emoji stay where scripts and emoji need them. */
function symbol(found, at, whole) {
  const code = found.codePointAt(0);
  const number = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const title = NAMES[code] ? `${number} ${NAMES[code]}` : number;
  if (isNeeded(code, whole, at)) return { text: found, title };
  if (Object.hasOwn(SIGNS, code)) return { text: SIGNS[code], title };
  return { text: `\u27e8${number}\u27e9`, title };
}

function isNeeded(code, whole, at) {
  const before = whole.charCodeAt(at - 1);
  if (code === 0xfe0f) return before >= 0xa9;
  return (code === 0x200c || code === 0x200d) && before > 0x2ff && whole.charCodeAt(at + 1) > 0x2ff;
}

function isHighSurrogate(unit) {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function moreButton(holder, all, from, lines) {
  let at = from;
  const label = () => `Show more (${bytes(all.length - at)} left)`;
  const show = () => {
    const part = cut(all, MORE, at);
    holder.append(...visible(part, lines));
    at += part.length;
    if (at < all.length) button.textContent = label();
    else button.replaceWith(h("span", { class: "hint" }, "End of the text."));
  };
  const button = h("button", { type: "button", class: "more", on: { click: show } }, label());
  return button;
}
