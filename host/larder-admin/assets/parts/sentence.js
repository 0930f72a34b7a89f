// A sentence of the server in which backticks enclose commands, keys and names.

import { h } from "../app/dom.js";
import { data } from "../app/text.js";

/** Returns the sentence; what is between backticks is code. A long sentence is cut, and shown as it is. */
export function sentence(text, limit = 600) {
  const all = String(text ?? "");
  if (all.length > limit) return data(all, { limit });
  return all
    .split(/(`[^`\n]+`)/)
    .map((part) => (/^`[^`]+`$/.test(part) ? h("code", null, data(part.slice(1, -1))) : data(part)));
}
