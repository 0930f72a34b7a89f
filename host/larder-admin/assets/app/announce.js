// Tells screen readers what changed, through two live regions that are part of the page from the start.

import { h } from "./dom.js";

const polite = h("div", { class: "hidden", role: "status", "aria-live": "polite" });
const assertive = h("div", { class: "hidden", role: "alert", "aria-live": "assertive" });
let last = { text: "", at: 0 };
let lastAlert = { text: "", at: 0 };

/** The live regions. */
export const liveRegions = [polite, assertive];

/** Announces a text when the screen reader is idle. The same text is not repeated within a few seconds. */
export function announce(text) {
  const now = Date.now();
  if (text === last.text && now - last.at < 5000) return;
  last = { text, at: now };
  say(polite, text);
}

/** Announces an error at once. An error that a view meets again and again is announced once a minute. */
export function alertAll(text, isRepeated = false) {
  const now = Date.now();
  if (isRepeated && text === lastAlert.text && now - lastAlert.at < 60_000) return;
  lastAlert = { text, at: now };
  say(assertive, text);
}

/** A region that gets the same text twice announces it once, so it is emptied first. */
function say(region, text) {
  region.textContent = "";
  requestAnimationFrame(() => {
    region.textContent = text;
  });
}
