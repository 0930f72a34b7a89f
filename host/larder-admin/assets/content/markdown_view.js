// Shows Markdown with its structure. Links are inert: their target is shown as text. Images are not loaded.

import { h } from "../app/dom.js";
import { data, visible } from "../app/text.js";
import { blocksOf } from "./markdown_blocks.js";
import { spansOf } from "./markdown_inline.js";

/** What one click shows at most: blocks, parts of blocks, characters, and steps to find spans. */
const BLOCKS = 200;
const PARTS = 3000;
const STEPS = 2_000_000;
const CHARACTERS = 40_000;
/** A paragraph that is longer is shown as text, with a button that shows more. */
const MAX_PARAGRAPH = 20_000;
const MAX_COLUMNS = 50;

/** Returns the view of a text. */
export function markdownView(text) {
  const blocks = blocksOf(text);
  const state = { level: 1 };
  const holder = h("div", { class: "markdown", dir: "auto" });
  const more = () => {
    Object.assign(state, { parts: PARTS, characters: CHARACTERS, work: { left: STEPS } });
    for (let number = 0; number < BLOCKS && state.parts > 0 && state.characters > 0; number += 1) {
      const { value, done } = blocks.next();
      if (done) return button.remove();
      holder.append(blockNode(value, state));
    }
    return undefined;
  };
  const button = h("button", { type: "button", class: "more", on: { click: more } }, "Show more");
  const view = h("div", null, holder, button);
  more();
  return view;
}

/** Converts parts of a block, as many as may be shown. */
function partsOf(items, state, convert) {
  const shown = [];
  for (const item of items) {
    if (state.parts <= 0 || state.characters <= 0)
      return [...shown, h("p", { class: "hint" }, "The rest is in the form “Text”.")];
    state.parts -= 1;
    shown.push(convert(item));
  }
  return shown;
}

function blockNode(block, state) {
  switch (block.kind) {
    case "heading":
      return heading(block, state);
    case "code":
      return h(
        "pre",
        { tabindex: "0", role: "region", "aria-label": "Code" },
        h("code", null, data(block.text, { limit: 20_000, lines: true })),
      );
    case "quote":
      return h(
        "blockquote",
        null,
        partsOf(block.blocks, state, (inner) => blockNode(inner, state)),
      );
    case "list":
      return list(block, state);
    case "table":
      return table(block, state);
    case "rule":
      return h("hr", null);
    default:
      return h("p", null, inline(block.text, state));
  }
}

/** Levels follow those of the page, and none is left out, whatever the text does. */
function heading({ level, text }, state) {
  state.level = Math.min(level + 1, state.level + 1, 6);
  return h(`h${state.level}`, { class: `markdown-${level}` }, inline(text, state));
}

function list({ isOrdered, start, items }, state) {
  const nodes = partsOf(items, state, ({ blocks }) => {
    const isTight = blocks.length === 1 && blocks[0].kind === "paragraph";
    const inner = () => partsOf(blocks, state, (block) => blockNode(block, state));
    return h("li", null, isTight ? inline(blocks[0].text, state) : inner());
  }).map((node) => (node.tagName === "LI" ? node : h("li", null, node)));
  return isOrdered ? h("ol", { start }, nodes) : h("ul", null, nodes);
}

function table({ head, rows }, state) {
  const cell = (tag, props) => (text) => h(tag, props, inline(text, state));
  const headCells = head.slice(0, MAX_COLUMNS).map(cell("th", { scope: "col" }));
  const body = [];
  for (const row of rows) {
    const shown = row.slice(0, MAX_COLUMNS);
    if (state.parts < shown.length || state.characters <= 0) break;
    body.push(h("tr", null, partsOf(shown, state, cell("td", null))));
  }
  const rest = rows.length - body.length;
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
    h("table", null, h("thead", null, h("tr", null, headCells)), h("tbody", null, body)),
    rest > 0 && h("p", { class: "hint" }, `${rest} more rows are in the form “Text”.`),
  );
}

function inline(text, state) {
  state.characters -= text.length;
  return text.length > MAX_PARAGRAPH
    ? data(text, { limit: MAX_PARAGRAPH, lines: true })
    : spansOf(text, state.work).map(spanNode);
}

function spanNode(span) {
  if (typeof span === "string") return visible(span.replaceAll("\n", " "));
  const inner = () => span.spans.map(spanNode);
  switch (span.kind) {
    case "break":
      return h("br", null);
    case "code":
      return h("code", null, visible(span.text));
    case "link":
      return h(
        "span",
        { class: "inert-link" },
        h("span", { class: "inert-text" }, inner()),
        target(span.url),
      );
    case "image":
      return h(
        "span",
        { class: "inert-image" },
        "Image: ",
        data(span.text || "without a text"),
        target(span.url),
      );
    case "strong":
      return h("strong", null, inner());
    case "deleted":
      return h("del", null, inner());
    default:
      return h("em", null, inner());
  }
}

function target(url) {
  return h("span", { class: "inert-target" }, " (", data(url, { limit: 300 }), ")");
}
