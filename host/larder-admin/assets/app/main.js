// Starts the page: builds the frame, loads the session, and shows the view of the current address.

import { alertAll } from "./announce.js";
import { get, isAborted, useLogin } from "./api.js";
import * as live from "./live.js";
import { go, link, parse } from "./router.js";
import * as session from "./session.js";
import * as shell from "./shell.js";
import { h } from "./dom.js";
import { failure } from "../parts/states.js";
import { viewOf } from "../views/all.js";

/** Stops what the current view still does. */
let leave = new AbortController();
/** Events that can change what waits for an approval. */
const APPROVAL_KINDS = new Set(["approval", "load", "reload", "removal", "rejection"]);
let isFirst = true;
let isStarted = false;
/** Where to go after a login. */
let wanted = null;

useLogin((kinds) => {
  isStarted = false;
  session.forget(kinds);
  live.stop();
  if (parse(location.hash).segments[0] === "login") return;
  wanted = location.hash;
  go(link(["login"]));
});

/** Shows the view of the current address. */
async function show() {
  leave.abort();
  leave = new AbortController();
  const { segments, query } = parse(location.hash);
  const { view, page, parameters } = viewOf(segments);
  const context = {
    parameters,
    query,
    signal: leave.signal,
    root: h("div", { class: "view" }),
    title: setTitle,
    loggedIn,
  };
  shell.main.dataset.view = view.name;
  shell.main.replaceChildren(context.root);
  shell.markPage(page);
  setTitle(view.title);
  window.scrollTo(0, 0);
  try {
    await view.show(context);
  } catch (error) {
    if (!isAborted(error)) context.root.append(failure(error));
  }
  if (!context.signal.aborted) focusHeading();
}

/** A view that takes the place of another gets the focus, so that a screen reader starts with its heading. */
function focusHeading() {
  const heading = shell.main.querySelector("h1");
  if (heading && !isFirst && !shell.main.contains(document.activeElement)) {
    heading.focus({ preventScroll: true });
  }
  isFirst = false;
}

function setTitle(...parts) {
  document.title = [...parts, "Larder"].join(" – ");
}

/** Continues after a login. */
function loggedIn() {
  startLive();
  const hash = wanted ?? link(["overview"]);
  wanted = null;
  go(hash);
}

function startLive() {
  if (isStarted) return;
  isStarted = true;
  live.start();
  countApprovals();
}

/** Shows the number of pending approvals in the navigation. */
async function countApprovals() {
  try {
    const { items } = await get("approvals", { limit: 100 });
    shell.setBadge("approvals", items.length, "waiting");
  } catch (error) {
    console.warn("the pending approvals cannot be counted", error);
  }
}

async function start() {
  shell.build();
  live.on("overview", shell.showProblems);
  const count = live.soon(countApprovals);
  live.on("event", (event) => APPROVAL_KINDS.has(event.kind) && count());
  // The stream says only that it failed; a request says whether a login is needed.
  live.on("state", (state) => state === "offline" && isStarted && session.load().catch(() => {}));
  window.addEventListener("hashchange", show);
  try {
    await session.load();
    startLive();
  } catch (error) {
    if (error.status === 401) return;
    alertAll(error.message);
  }
  await show();
}

start();
