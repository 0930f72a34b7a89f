// Shows one content of a read in the forms that fit: Markdown, JSON, image, text, hexadecimal.

import { h } from "../app/dom.js";
import { bytes as size } from "../app/format.js";
import { data, plain } from "../app/text.js";
import { createTabs } from "../parts/tabs.js";
import { notice } from "../parts/states.js";
import { fromBase64, fromText, toText } from "./bytes.js";
import { hexView } from "./hex_view.js";
import { imageType } from "./image_type.js";
import { imageView } from "./image_view.js";
import { jsonTree } from "./json_view.js";
import { markdownView } from "./markdown_view.js";

/** How much text is shown before the first click. */
const TEXT = 20_000;
/** JSON that is larger is shown as text: its parsed form needs several times its size. */
const MAX_JSON = 20_000_000;

/** Returns the view of a content `{uri, mimeType?, text?|blob?}`. */
export function contentView(content, signal) {
  const bytes = typeof content.blob === "string" ? fromBase64(content.blob) : null;
  const text = typeof content.text === "string" ? content.text : bytes && toText(bytes);
  const length = bytes?.length ?? fromText(text ?? "").length;
  const about = [data(content.mimeType ?? "no media type", { limit: 80 }), `, ${size(length)}`];
  const name = h("p", { class: "uri name" }, data(content.uri, { limit: 300 }));
  const head = h("div", { class: "content-head" }, name, h("p", { class: "hint" }, about));
  const tabs = forms(content, text, bytes, signal);
  const body =
    tabs.length > 0
      ? createTabs("Form of the content", tabs)
      : notice("error", h("p", null, "The content is not valid base64."));
  return h("article", { class: "card content", "aria-label": plain(content.uri) }, head, body);
}

function forms(content, text, bytes, signal) {
  const image = bytes && imageType(bytes);
  const json = text === null ? undefined : parsed(content, text);
  return [
    image && { label: "Image", render: () => imageView(bytes, image, signal) },
    isMarkdown(content) && text !== null && { label: "Markdown", render: () => markdownView(text) },
    json !== undefined && { label: "JSON", render: () => jsonTree(json) },
    text !== null && { label: "Text", render: () => textView(text) },
    (bytes || text !== null) && { label: "Hex", render: () => hexView(bytes ?? fromText(text)) },
  ].filter(Boolean);
}

function textView(text) {
  if (text === "") return h("p", { class: "hint" }, "The text is empty.");
  return h(
    "pre",
    { class: "text", tabindex: "0", role: "region", "aria-label": "Text" },
    data(text, { limit: TEXT, lines: true }),
  );
}

function isMarkdown({ mimeType = "", uri = "" }) {
  return /^text\/(x-)?markdown\b/i.test(mimeType) || (mimeType === "" && /\.(md|markdown)$/i.test(uri));
}

/** The parsed JSON, or `undefined` if it is none. Plain numbers and words count only if the type says JSON. */
function parsed({ mimeType = "" }, text) {
  const isJson = /^[\w.+-]+\/([\w.-]+\+)?json\b/i.test(mimeType);
  const looksLikeJson = mimeType === "" && /^\s*[[{]/.test(text);
  if ((!isJson && !looksLikeJson) || text.length > MAX_JSON) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
