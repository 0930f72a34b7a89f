// Parts of lists: pages with cursors, and suggestions.

// As many suggestions as MCP lets an answer have.
const SUGGESTIONS = 100;

/**
 * One page of a list that is sorted by URI: what follows the query's cursor, filtered by its hints. The cursor is
 * the last URI of the page before, so a list that grows or shrinks between two pages loses nothing.
 */
export function paginate(entries, query) {
  const limit = Math.max(query.limit, 1);
  const page = [];
  for (const entry of entries) {
    if (!wants(query, entry)) continue;
    if (page.length === limit) return { entries: page, nextCursor: page.at(-1).uri };
    page.push(entry);
  }
  return { entries: page };
}

function wants({ cursor, uriPrefix, kind }, entry) {
  const follows = cursor == null || entry.uri > cursor;
  return follows && entry.uri.startsWith(uriPrefix ?? '') && (kind == null || entry.details?.kind === kind);
}

/** Those of the candidates that begin with what has been typed, as many as an answer may have. */
export function matching(candidates, prefix) {
  const found = [...candidates].filter((value) => value.startsWith(prefix));
  return { values: found.slice(0, SUGGESTIONS), total: found.length, more: found.length > SUGGESTIONS };
}
