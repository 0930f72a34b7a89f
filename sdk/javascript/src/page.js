// Pages of lists, and completions.

// The maximum number of values in a completion, as specified by MCP.
const MAX_SUGGESTIONS = 100;
// A page ends when its iterator has taken this long since its first entry. The host gives a list for which a client
// waits at least half a second.
const MAX_PAGE_MS = 250;

/**
 * Returns one page of a list that is sorted by URI: the entries after the query's cursor that match its hints. The
 * cursor is the last URI of the previous page. If the list changes between two pages, entries that are in the list all
 * the time are neither repeated nor lost. If `entries` is a slow iterator, the page ends early, so that the list is not
 * skipped because it is too late.
 */
export function paginate(entries, query) {
  const limit = Math.max(query.limit, 1);
  const page = [];
  let end = Infinity;
  for (const entry of entries) {
    if (!matches(query, entry)) continue;
    const now = Date.now();
    if (page.length === 0) end = now + MAX_PAGE_MS;
    else if (page.length === limit || now > end) return { entries: page, nextCursor: page.at(-1).uri };
    page.push(entry);
  }
  return { entries: page };
}

/** Whether an entry matches the hints of a query, and follows its cursor. */
export function matches({ cursor, uriPrefix, kind }, entry) {
  const follows = cursor == null || entry.uri > cursor;
  return follows && entry.uri.startsWith(uriPrefix ?? '') && (kind == null || entry.details?.kind === kind);
}

/** Returns the candidates that begin with the prefix, truncated to the maximum number of suggestions. */
export function matching(candidates, prefix) {
  const found = [...candidates].filter((value) => value.startsWith(prefix));
  return { values: found.slice(0, MAX_SUGGESTIONS), total: found.length, more: found.length > MAX_SUGGESTIONS };
}
