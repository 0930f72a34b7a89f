// Pages of lists, and completions.

// The maximum number of values in a completion, as specified by MCP.
const MAX_SUGGESTIONS = 100;

/**
 * Returns one page of a list that is sorted by URI: the entries after the query's cursor that match its hints. The
 * cursor is the last URI of the previous page. If the list changes between two pages, entries that are in the list all
 * the time are neither repeated nor lost.
 */
export function paginate(entries, query) {
  const limit = Math.max(query.limit, 1);
  const page = [];
  for (const entry of entries) {
    if (!matches(query, entry)) continue;
    if (page.length === limit) return { entries: page, nextCursor: page.at(-1).uri };
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
