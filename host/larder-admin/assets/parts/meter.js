// A bar that shows a value of a whole, with the same as text.

import { attribute, h } from "../app/dom.js";
import { percent } from "../app/format.js";

/** From this share on the bar warns. */
const HIGH = 0.85;

/** Creates a bar. `format` writes the values; `update(used, limit)` changes it. */
export function createMeter(label, format) {
  const text = h("span", { class: "meter-text" });
  const fill = h("span", { class: "meter-fill" });
  const bar = h(
    "span",
    { class: "meter-bar", role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100 },
    fill,
  );
  const element = h(
    "div",
    { class: "meter" },
    h("div", { class: "meter-head" }, h("span", null, label), text),
    bar,
  );

  function update(used, limit) {
    const isLimited = Number.isFinite(limit) && limit > 0;
    const share = isLimited ? Math.min(1, used / limit) : 0;
    fill.style.setProperty("--share", String(share));
    element.classList.toggle("high", share >= HIGH);
    text.textContent = isLimited
      ? `${format(used)} of ${format(limit)} (${percent(used, limit)})`
      : `${format(used)}, no limit`;
    attribute(bar, "aria-valuenow", Math.round(share * 100));
    attribute(bar, "aria-valuetext", text.textContent);
  }
  return { element, update };
}
