// Addresses inside of the page: `#/providers/team%2Fname?tab=log`. Parses them, builds them, and reports changes.

/** Parses a hash into the segments of its path and its query. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const segments = path.split("/").filter(Boolean).map(decode);
  return { segments, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Builds a hash from segments and a query; empty values are left out. */
export function link(segments, query = {}) {
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== "" && value !== null && value !== undefined,
  );
  const text = new URLSearchParams(pairs).toString();
  return `#/${segments.map(encodeSegment).join("/")}${text ? `?${text}` : ""}`;
}

/** Goes to an address of the page. */
export function go(hash) {
  if (location.hash === hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}

/** Changes the query of the current address without a new view, so that a filter can be shared as a link. */
export function setQuery(query) {
  const { segments } = parse(location.hash);
  history.replaceState(null, "", link(segments, query));
}

/** Names of providers can be anything, lone surrogates included, which `encodeURIComponent` refuses. */
function encodeSegment(text) {
  return encodeURIComponent(String(text).toWellFormed?.() ?? text);
}

function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
