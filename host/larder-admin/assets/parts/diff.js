// Shows what changed between two states line by line. Signs and hidden words say it, colours repeat it.

import { h } from "../app/dom.js";
import { data } from "../app/text.js";

const SIGNS = { added: "+", removed: "−", same: " " };
const WORDS = { added: "Added: ", removed: "Removed: ", same: "" };
/** Lines that are compared: the time grows with the square. */
const MAX_LINES = 600;

/** Returns the view of `[{kind: "added"|"removed"|"same", line}]`. */
export function diffView(changes, label) {
  const row = ({ kind, line }) => {
    const known = Object.hasOwn(SIGNS, kind) ? kind : "same";
    return h(
      "li",
      { class: known },
      h("span", { class: "diff-sign", "aria-hidden": "true" }, SIGNS[known]),
      h("span", { class: "hidden" }, WORDS[known]),
      data(line, { limit: 400, lines: true }),
    );
  };
  return h("ol", { class: "diff", "aria-label": label, tabindex: "0", role: "list" }, changes.map(row));
}

/** Compares two texts by lines. Texts with too many lines are one removal and one addition. */
export function compareLines(before, after) {
  const [old, now] = [lines(before), lines(after)];
  if (old.length > MAX_LINES || now.length > MAX_LINES) return [...old.map(removed), ...now.map(added)];
  const lengths = commonLengths(old, now);
  const result = [];
  let [left, right] = [0, 0];
  while (left < old.length || right < now.length) {
    const isSame = left < old.length && right < now.length && old[left] === now[right];
    if (isSame) {
      result.push({ kind: "same", line: old[left] });
      left += 1;
      right += 1;
    } else if (
      left < old.length &&
      (right === now.length || lengths[left + 1][right] >= lengths[left][right + 1])
    ) {
      result.push(removed(old[left]));
      left += 1;
    } else {
      result.push(added(now[right]));
      right += 1;
    }
  }
  return result;
}

const added = (line) => ({ kind: "added", line });
const removed = (line) => ({ kind: "removed", line });

function lines(text) {
  return text === "" ? [] : text.split("\n");
}

/** The lengths of the longest common parts of all ends of both lists. */
function commonLengths(old, now) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let left = old.length - 1; left >= 0; left -= 1) {
    for (let right = now.length - 1; right >= 0; right -= 1) {
      table[left][right] =
        old[left] === now[right]
          ? table[left + 1][right + 1] + 1
          : Math.max(table[left + 1][right], table[left][right + 1]);
    }
  }
  return table;
}
