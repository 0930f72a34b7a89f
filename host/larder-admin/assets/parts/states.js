// What stands in the place of content: loading, empty, failed; and small signs of a state.

import { isAborted } from "../app/api.js";
import { alertAll } from "../app/announce.js";
import { h, replace } from "../app/dom.js";
import { words } from "../app/format.js";
import { icon } from "../app/icons.js";
import { plain } from "../app/text.js";

/** Which look a state, a kind or an outcome has. */
const TONES = {
  ready: "ok",
  ok: "ok",
  closed: "ok",
  approved: "ok",
  load: "ok",
  hit: "ok",
  added: "ok",
  current: "ok",
  valid: "ok",
  loading: "info",
  reload: "info",
  notification: "info",
  login: "info",
  miss: "info",
  half_open: "warning",
  degraded: "warning",
  warning: "warning",
  approval: "warning",
  refusal: "warning",
  removal: "warning",
  pending: "warning",
  changed: "warning",
  rejected: "error",
  rejection: "error",
  error: "error",
  fault: "error",
  open: "error",
  removed: "error",
  trap: "error",
  timeout: "error",
};

/** A small label of a state; the text says it, the colour repeats it. */
export function badge(state, text = words(state)) {
  const tone = Object.hasOwn(TONES, state) ? TONES[state] : "plain";
  return h("span", { class: `badge ${tone}` }, plain(text, 60));
}

/** Shows that something is loaded, if that takes long enough to notice. */
export function loading(text = "Loading…") {
  return h("p", { class: "loading", role: "status" }, text);
}

/** Says that there is nothing, and what to do. */
export function empty(title, advice = null) {
  return h(
    "div",
    { class: "empty" },
    icon("empty"),
    h("p", { class: "empty-title" }, title),
    advice && h("p", { class: "hint" }, advice),
  );
}

/** Says what failed, with a button that tries again. */
export function failure(error, retry = null) {
  const text = plain(error.message ?? String(error), 1000);
  alertAll(text, true);
  const again = retry && h("button", { type: "button", on: { click: retry } }, "Try again");
  return h(
    "div",
    { class: "notice error", data: { failure: "" } },
    icon("error"),
    h("div", null, h("p", null, text), again),
  );
}

/** A remark in a box. */
export function notice(kind, ...children) {
  const name = kind === "error" ? "error" : "warning";
  return h(
    "div",
    { class: `notice ${kind}` },
    kind === "info" ? null : icon(name),
    h("div", null, ...children),
  );
}

/**
 * Fills an element with what an action returns; shows that it loads, and why it failed.
 * @param {Element} element What is filled.
 * @param {() => Promise<any>} action Returns the new children.
 */
export async function fillWith(element, action) {
  element.setAttribute("aria-busy", "true");
  if (!element.hasChildNodes()) replace(element, loading());
  try {
    replace(element, await action());
  } catch (error) {
    if (isAborted(error)) return;
    replace(
      element,
      failure(error, () => fillWith(element, action)),
    );
  } finally {
    element.removeAttribute("aria-busy");
  }
}
