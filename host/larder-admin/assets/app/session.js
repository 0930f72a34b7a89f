// Who uses the page, and what this session may do. The server decides again at each request.

import { get, post, useCsrf } from "./api.js";

/** Where the value against request forgery is kept: only the answer to a login has it, and other tabs need it too. It is
 *  of no use without the cookie, which no script can read. */
const KEY = "larder.csrf";

const target = new EventTarget();
let session = null;
let kinds = ["token"];

/** The session, or null before a login. */
export function current() {
  return session;
}

/** The kinds of credentials that the server accepts: `token`, `oauth`. */
export function loginKinds() {
  return kinds;
}

/** Asks the server for the session. */
export async function load(signal) {
  useCsrf(() => session?.csrf ?? stored());
  set(await get("session", {}, signal));
  return session;
}

/** Logs in with a token, which is not kept. */
export async function logIn(token) {
  const answer = await post("login", { token });
  store(answer?.csrf ?? null);
  return load();
}

/** Ends the session. */
export async function logOut() {
  await post("logout", {});
  store(null);
  set(null);
}

/** Forgets the session after the server refused it. */
export function forget(accepted) {
  kinds = accepted;
  set(null);
}

/** Calls back when the session changes. */
export function onChange(callback) {
  target.addEventListener("change", () => callback(session));
}

function set(next) {
  session = next;
  target.dispatchEvent(new Event("change"));
}

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return memory;
  }
}

/** What is kept where the storage is switched off. */
let memory = null;

function store(value) {
  memory = value;
  try {
    if (value === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, value);
  } catch {
    // The value holds until the page is closed.
  }
}
