// Shows bytes as offsets, hexadecimal digits and characters, in parts.

import { h } from "../app/dom.js";
import { bytes as size } from "../app/format.js";

const LINE = 16;
const PART = 4096;

/** Returns the view of bytes. */
export function hexView(bytes) {
  const text = h("pre", {
    class: "hex",
    tabindex: "0",
    role: "region",
    "aria-label": "Bytes in hexadecimal",
  });
  const holder = h("div", null, text);
  let at = 0;
  const more = () => {
    const end = Math.min(bytes.length, at + PART);
    const lines = [];
    for (; at < end; at += LINE) lines.push(line(bytes, at));
    at = end;
    text.append(lines.join(""));
    button.hidden = at >= bytes.length;
    button.textContent = `Show more (${size(bytes.length - at)} left)`;
  };
  const button = h("button", { type: "button", class: "more", on: { click: more } });
  holder.append(button);
  more();
  return holder;
}

function line(bytes, at) {
  const some = [...bytes.subarray(at, at + LINE)];
  const digits = some.map((byte) => byte.toString(16).padStart(2, "0"));
  const left = digits.slice(0, 8).join(" ").padEnd(23);
  const right = digits.slice(8).join(" ").padEnd(23);
  const characters = some
    .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·"))
    .join("");
  return `${at.toString(16).padStart(8, "0")}  ${left}  ${right}  ${characters}\n`;
}
