// Sends requests to the JSON API. A failed request is an `ApiError` with a message for people.

/** A request that failed. `status` is 0 where no answer arrived. */
export class ApiError extends Error {
  constructor(status, code, message, details = {}) {
    super(message);
    Object.assign(this, { status, code, details });
  }
}

/** How many logins succeeded. */
let logins = 0;
let csrf = () => null;
let onLoginNeeded = () => {};

/** Sets where the value against request forgery comes from that requests with effects carry. */
export function useCsrf(value) {
  csrf = value;
}

/** Sets what happens when the server wants a login. */
export function useLogin(callback) {
  onLoginNeeded = callback;
}

/** Builds a path with a query; values that are empty are left out. */
export function address(path, query = {}) {
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== "" && value !== null && value !== undefined,
  );
  const text = new URLSearchParams(pairs).toString();
  return `/api/${path}${text ? `?${text}` : ""}`;
}

/** Gets a value. */
export function get(path, query, signal) {
  return send(address(path, query), { method: "GET", signal });
}

/** Posts a value. */
export function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const secret = csrf();
  if (secret) headers["X-Larder-Csrf"] = secret;
  return send(
    address(path),
    { method: "POST", headers, body: JSON.stringify(body), signal },
    path === "login",
  );
}

async function send(url, options, isLogin = false) {
  const settings = { credentials: "same-origin", cache: "no-store", redirect: "error", ...options };
  const before = logins;
  const response = await fetch(url, settings).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The server cannot be reached. Is it running?");
  });
  const body = await parse(response);
  if (response.ok && isLogin) logins += 1;
  if (response.ok) return body;
  const isUnknown = response.status === 401 || body?.error?.code === "csrf";
  // The refusal of a request from before a login can arrive after the login.
  if (isUnknown && !isLogin && before === logins) onLoginNeeded(body?.login ?? ["token"]);
  throw new ApiError(response.status, body?.error?.code ?? "error", message(response, body), body ?? {});
}

async function parse(response) {
  const text = await response.text();
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    if (!response.ok) return { error: { message: text.slice(0, 500).trim() } };
    throw new ApiError(response.status, "invalid", "The server sent an answer that is not JSON.");
  }
}

function message(response, body) {
  return body?.error?.message || `The server refused the request with status ${response.status}.`;
}

/** Whether an error only says that the view was left. */
export function isAborted(error) {
  return error?.name === "AbortError";
}
