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
 *
 * Each page is a call of its own. An array is searched for the cursor, but an iterator has to create all entries before
 * the cursor again, so that a long list takes quadratic time. For a long list, `entries` is a function: it is called
 * with the cursor, or undefined for the first page, and returns the entries after it, and possibly earlier ones.
 */
export function paginate(entries, query, warn = () => {}) {
  const limit = Math.max(query.limit, 1);
  const page = [];
  const start = Date.now();
  let end = Infinity;
  let skipped = 0;
  for (const entry of entriesFrom(entries, query.cursor ?? undefined)) {
    if (query.cursor != null && entry.uri <= query.cursor) skipped += 1;
    if (!matches(query, entry)) continue;
    const now = Date.now();
    if (page.length === 0) {
      warnAboutSkipping(skipped, now - start, warn);
      end = now + MAX_PAGE_MS;
    } else if (page.length === limit || now > end) {
      return { entries: page, nextCursor: page.at(-1).uri };
    }
    page.push(entry);
  }
  return { entries: page };
}

/** Returns the entries, without those before the cursor if they need not be created. */
function entriesFrom(entries, cursor) {
  if (typeof entries === 'function') return entries(cursor);
  if (!Array.isArray(entries) || cursor == null) return entries;
  let [first, end] = [0, entries.length];
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (entries[middle].uri > cursor) end = middle;
    else first = middle + 1;
  }
  return rest(entries, first);
}

/** Yields the items of an array from this one on. */
function* rest(items, first) {
  for (let at = first; at < items.length; at++) yield items[at];
}

/** A list that takes this long before its page begins will be too late a few pages later. */
function warnAboutSkipping(entries, milliseconds, warn) {
  if (entries === 0 || milliseconds <= MAX_PAGE_MS) return;
  const seconds = (milliseconds / 1000).toFixed(1);
  warn(
    `paginate created ${entries} entries again in ${seconds} s to find its cursor: ` +
      'pass a function that begins after the cursor',
  );
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
