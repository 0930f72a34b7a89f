// A list of the API with filters and pages. The filters are part of the address, so that a list can be shared as a
// link, and the page that is shown is loaded again as long as live updates are on.

import { get, isAborted } from "../app/api.js";
import { announce } from "../app/announce.js";
import { attribute, h, replace } from "../app/dom.js";
import { counted } from "../app/format.js";
import { icon } from "../app/icons.js";
import { repeat } from "../app/live.js";
import { setQuery } from "../app/router.js";
import { failure } from "./states.js";
import { createFilters } from "./filters.js";

const PAGE = 50;

/**
 * Creates a list.
 * @param {{path: string, noun: string, context: object, fields: object[], show: (items: any[]) => void, body: Element,
 *   refresh?: number}} options `show` gets the entries of the page and puts them into `body`.
 */
export function createPagedList({ path, noun, context, fields, show, body, refresh = 0 }) {
  const cursors = [""];
  const pager = createPager((step) => turn(step));
  const trouble = h("div", null);
  const filters = createFilters(fields, context.query, changed, context.signal);
  const newRequest = onlyNewest(context.signal);
  /** The filters of the list that is shown. A field can have another value during a pause in typing. */
  let values = filters.read();

  /** Loads the current page; `said` is whether the number of entries is announced. */
  async function load(said) {
    const query = { ...values, limit: PAGE, cursor: cursors.at(-1) };
    const signal = newRequest();
    attribute(body, "aria-busy", "true");
    try {
      const { items, next } = await get(path, query, signal);
      replace(trouble);
      show(items);
      pager.update(cursors.length, items.length, next);
      if (said) announce(`${counted(items.length, noun)}${next ? " on this page" : ""}`);
    } catch (error) {
      const retry = () => load(true);
      if (!isAborted(error)) replace(trouble, failure(error, retry));
    }
    // After this request, a newer one still loads.
    if (!signal.aborted) attribute(body, "aria-busy", null);
  }

  function changed(next) {
    values = next;
    setQuery(values);
    cursors.length = 1;
    load(true);
  }

  function turn(step) {
    if (step.next) cursors.push(step.next);
    else if (cursors.length > 1) cursors.pop();
    load(true);
    body.scrollIntoView({ block: "nearest" });
  }

  if (refresh > 0) repeat(() => load(false), refresh, context.signal);
  const element = h("div", { class: "paged" }, filters.element, trouble, body, pager.element);
  return { element, load, filters };
}

/** Returns a function that aborts the request before, and returns the signal of a new one. */
function onlyNewest(signal) {
  let running = null;
  return () => {
    running?.abort();
    running = new AbortController();
    return AbortSignal.any([running.signal, signal]);
  };
}

function createPager(turn) {
  let following = null;
  const text = h("p", { class: "hint" });
  const back = h("button", { type: "button", on: { click: () => turn({}) } }, icon("back"), "Previous page");
  const next = h(
    "button",
    { type: "button", on: { click: () => turn({ next: following }) } },
    "Next page",
    icon("next"),
  );
  const element = h("nav", { class: "pager", "aria-label": "Pages" }, text, back, next);

  function update(page, number, cursor) {
    following = cursor ?? null;
    setDisabled(back, page === 1, next);
    setDisabled(next, !following, back);
    back.hidden = next.hidden = page === 1 && !following;
    text.textContent =
      page === 1 && !following ? `${number} shown, no more` : `Page ${page}, ${number} shown`;
  }
  return { element, update };
}

/** A button that has the focus and becomes disabled would lose it to the document. */
function setDisabled(button, isDisabled, other) {
  const hadFocus = isDisabled && document.activeElement === button;
  button.disabled = isDisabled;
  if (hadFocus && !other.disabled) other.focus();
}
