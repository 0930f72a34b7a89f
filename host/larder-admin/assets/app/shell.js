// The frame around all views: skip link, navigation, state of the live updates, theme, session.

import { alertAll, announce, liveRegions } from "./announce.js";
import { attribute, h, replace } from "./dom.js";
import { counted } from "./format.js";
import { icon, sign } from "./icons.js";
import * as live from "./live.js";
import { go, link } from "./router.js";
import * as session from "./session.js";
import { plain } from "./text.js";
import { nextTheme, theme } from "./theme.js";

const PAGES = ["overview", "providers", "catalog", "approvals", "events", "teams"];
const LIVE_TEXTS = { live: "Live", connecting: "Connecting", offline: "Reconnecting", paused: "Paused" };
const badges = new Map();
const links = new Map();

/** The element that a view fills. */
export const main = h("main", { id: "main", tabindex: "-1" });

/** Adds the frame to the document. */
export function build() {
  const skip = h("a", { class: "skip", href: "#main", on: { click: skipToMain } }, "Skip to the content");
  const side = h(
    "div",
    { class: "side" },
    h(
      "header",
      { class: "side-fixed" },
      brand(),
      menuButton(),
      h("div", { class: "side-rest", id: "menu" }, navigation(), controls()),
    ),
  );
  document.body.replaceChildren(skip, h("div", { class: "frame" }, side, main), ...liveRegions);
}

/** Marks the page that is shown in the navigation, and closes the menu of narrow windows. */
export function markPage(name) {
  for (const [page, element] of links) attribute(element, "aria-current", page === name ? "page" : null);
  document.body.classList.remove("menu-open");
  attribute(document.querySelector(".menu-button"), "aria-expanded", "false");
}

/** Shows a number beside a page of the navigation: things that wait for the operator. */
export function setBadge(page, number, what, kind = "warning") {
  const badge = badges.get(page);
  badge.className = `nav-badge ${kind}`;
  badge.hidden = !(number > 0);
  replace(badge, String(number), h("span", { class: "hidden" }, ` ${what}`));
}

/** The hash is the address of the view, so the skip link cannot be a plain anchor. */
function skipToMain(event) {
  event.preventDefault();
  main.focus();
  main.scrollIntoView();
}

function brand() {
  return h("a", { class: "brand", href: link(["overview"]) }, sign(), h("span", null, "Larder"));
}

function menuButton() {
  const toggle = () => {
    const isOpen = document.body.classList.toggle("menu-open");
    attribute(button, "aria-expanded", String(isOpen));
  };
  const button = h(
    "button",
    {
      type: "button",
      class: "menu-button quiet",
      "aria-expanded": "false",
      "aria-controls": "menu",
      on: { click: toggle },
    },
    icon("menu"),
    "Menu",
  );
  return button;
}

function navigation() {
  const item = (page) => {
    const badge = h("span", { class: "nav-badge", hidden: true });
    const anchor = h(
      "a",
      { href: link([page]), data: { page } },
      icon(page),
      h("span", { class: "nav-name" }, name(page)),
      badge,
    );
    badges.set(page, badge);
    links.set(page, anchor);
    return h("li", null, anchor);
  };
  return h("nav", { "aria-label": "Main" }, h("ul", null, PAGES.map(item)));
}

function name(page) {
  return page.charAt(0).toUpperCase() + page.slice(1);
}

function controls() {
  return h("div", { class: "controls" }, liveControl(), themeControl(), sessionControl());
}

function liveControl() {
  const text = h("span", { class: "live-text" });
  const button = h("button", { type: "button", class: "quiet live", "aria-pressed": "false" });
  const show = (state) => {
    const isPaused = state === "paused";
    button.dataset.state = state;
    attribute(button, "aria-pressed", String(isPaused));
    text.textContent = LIVE_TEXTS[state];
    replace(
      button,
      h("span", { class: "dot", "aria-hidden": "true" }),
      text,
      h("span", { class: "hidden" }, ": pause live updates"),
      icon(isPaused ? "play" : "pause"),
    );
  };
  button.addEventListener("click", () => live.pause(live.liveState() !== "paused"));
  live.on("state", (state) => {
    show(state);
    if (state === "offline") announce("The connection to the server was lost. The page connects again.");
    if (state === "paused") announce("Live updates are paused.");
  });
  show(live.liveState());
  return button;
}

function themeControl() {
  const button = h("button", { type: "button", class: "quiet theme" });
  const show = (name) => replace(button, icon(name), h("span", null, `Theme: ${name}`));
  button.addEventListener("click", () => show(nextTheme()));
  show(theme());
  return button;
}

function sessionControl() {
  const box = h("div", { class: "session" });
  session.onChange((current) => {
    // Before a login there is nothing to navigate to.
    document.body.classList.toggle("logged-out", !current);
    replace(box, current ? sessionParts(current) : []);
  });
  return box;
}

function sessionParts(current) {
  const via =
    { token: "Admin token", oauth: "OAuth", loopback: "Read-only on this machine" }[current.via] ??
    current.via;
  const who = h(
    "p",
    { class: "who" },
    current.subject && h("span", { class: "who-name" }, plain(current.subject, 60)),
    h("span", { class: "hint" }, via),
  );
  const logOut = h(
    "button",
    { type: "button", class: "quiet", on: { click: leave } },
    icon("logout"),
    "Log out",
  );
  return [who, current.via === "loopback" ? null : logOut];
}

async function leave() {
  try {
    await session.logOut();
    announce("You are logged out.");
    go(link(["login"]));
  } catch (error) {
    alertAll(`Logging out failed: ${error.message}`);
  }
}

/** Keeps the numbers in the navigation up to date. */
export function showProblems(overview) {
  const problems = overview.problems ?? [];
  const hasErrors = problems.some((problem) => problem.severity === "error");
  setBadge("overview", problems.length, counted(problems.length, "problem"), hasErrors ? "error" : "warning");
}
