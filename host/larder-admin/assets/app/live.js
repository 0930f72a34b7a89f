// Live updates: one stream of server-sent events for the whole page. It is opened again after an error, with a delay
// that grows, and closed while the page is hidden, because a browser has few connections to one server.

import { address } from "./api.js";

const FIRST_DELAY = 1000;
const MAX_DELAY = 30_000;
/** How long a hidden page keeps its stream. */
const HIDDEN_FOR = 15_000;

const target = new EventTarget();
let source = null;
let timer = null;
let hideTimer = null;
let delay = FIRST_DELAY;
let lastId = null;
let state = "connecting";
let isPaused = false;
let hasOpened = false;

/** The state: `connecting`, `live`, `offline`, `paused` or `stopped`. */
export function liveState() {
  return state;
}

/** Calls back for each event of a type (`event`, `overview`, `state`) until the signal aborts. */
export function on(type, callback, signal) {
  target.addEventListener(type, (event) => callback(event.detail), { signal });
}

/** Opens the stream. */
export function start() {
  document.addEventListener("visibilitychange", visibility);
  connect();
}

/** Closes the stream for good, for example before a login. */
export function stop() {
  document.removeEventListener("visibilitychange", visibility);
  close();
  setState("stopped");
}

/** Pauses or continues live updates of the whole page. */
export function pause(paused) {
  isPaused = paused;
  close();
  if (isPaused) setState("paused");
  else connect();
}

function connect() {
  close();
  if (isPaused) return;
  if (state !== "offline" && state !== "live") setState("connecting");
  hasOpened = false;
  source = new EventSource(address("events/stream", { after: lastId }));
  source.addEventListener("open", () => {
    hasOpened = true;
    delay = FIRST_DELAY;
    setState("live");
  });
  source.addEventListener("error", failed);
  source.addEventListener("event", (message) => {
    lastId = message.lastEventId || lastId;
    receive("event", message);
  });
  source.addEventListener("overview", (message) => receive("overview", message));
}

function receive(type, message) {
  try {
    target.dispatchEvent(new CustomEvent(type, { detail: JSON.parse(message.data) }));
  } catch (error) {
    console.warn("an event of the server is not JSON", error);
  }
}

/** The browser would connect again at once and forever; this waits longer each time. The server ends a stream after some
 *  minutes: the first attempt after that is made at once, and nobody is told. */
function failed() {
  close();
  if (hasOpened) return connect();
  setState("offline", true);
  timer = setTimeout(connect, delay);
  delay = Math.min(MAX_DELAY, delay * 2);
  return undefined;
}

function close() {
  clearTimeout(timer);
  source?.close();
  source = null;
}

function visibility() {
  clearTimeout(hideTimer);
  if (document.hidden) hideTimer = setTimeout(close, HIDDEN_FOR);
  else if (!source) connect();
}

/** Each failure is reported, also when one follows another. */
function setState(next, always = false) {
  if (state === next && !always) return;
  state = next;
  target.dispatchEvent(new CustomEvent("state", { detail: state }));
}

/**
 * Repeats a request of a view while the page is visible and live, until the signal aborts.
 * @param {() => Promise<any>} action What to do. Its errors are for the action itself to show.
 * @param {number} milliseconds The time between the end of one and the begin of the next.
 */
export function repeat(action, milliseconds, signal) {
  let next = null;
  const round = async () => {
    if (!document.hidden && !isPaused) await action();
    if (!signal.aborted) next = setTimeout(round, milliseconds);
  };
  next = setTimeout(round, milliseconds);
  signal.addEventListener("abort", () => clearTimeout(next));
}

/**
 * Returns a function that runs the action soon, once for all calls until then: events can arrive in large numbers. A call
 * while the action runs leads to another run, because the action may not see what the call is about.
 * @param {() => Promise<any>|void} action
 */
export function soon(action, signal, milliseconds = 300) {
  let timer = null;
  let isAsked = false;
  const run = async () => {
    isAsked = false;
    await action();
    timer = null;
    if (isAsked) ask();
  };
  const ask = () => {
    isAsked = true;
    if (timer === null && !signal?.aborted) timer = setTimeout(run, milliseconds);
  };
  signal?.addEventListener("abort", () => clearTimeout(timer));
  return ask;
}
