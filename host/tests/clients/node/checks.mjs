// What every client has to see. A client's script brings an adapter:
//   listPage(cursor) templatesPage(cursor) -> {items, next}; read(uri) -> contents;
//   complete(template, variable, prefix) -> values, if the client has it; walk() -> the entries of all
//   pages, if it does that by itself; watch(uri), if it has it; hear(uri, updated, listChanged), which
//   calls back from then on.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const expected = JSON.parse(readFileSync(new URL("../expected.json", import.meta.url)));
const { prefix, count, digits, mimeType } = expected.numbered;
for (let n = 1; n <= count; n += 1) {
  expected.resources.push({ uri: prefix + String(n).padStart(digits, "0"), mimeType });
}
assert.ok(expected.resources.length > 2 * expected.page_size, "fewer than three pages would prove little");

// Above what the slowest script takes on a loaded machine, below what a person waits for.
const GIVE_UP_MS = 240_000;
// Above what a loaded machine needs for one change.
const HEARD_WITHIN_MS = 30_000;
let failed = 0;
let passed = 0;

/** Runs one check, prints its line, and goes on; says whether it passed. */
export async function check(label, body) {
  try {
    await body();
    passed += 1;
    console.log(`ok    ${label}`);
    return true;
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${label}: ${error?.message ?? error}${error?.stderr ?? ""}`);
    return false;
  }
}

/** Opens a client, lets it see everything, and closes it, whatever happens. */
export async function session(label, open, notFound) {
  let client;
  await check(`${label}: connect`, async () => { client = await open(); });
  if (!client) return;
  try {
    await everything(label, client, notFound);
  } finally {
    await check(`${label}: close`, () => client.close());
  }
}

/** Opens a client that hears of a file that changes and of one that is new. It comes after all sessions,
 *  which see just the files that were there at first. */
export async function hears(label, folder, open) {
  const name = `${label.replace(/[^a-z0-9]+/g, "-")}.txt`;
  const [uri, added] = [`file:///docs/${name}`, `file:///docs/new-${name}`];
  writeFileSync(join(folder, name), "before");
  let client;
  await check(`${label}: connect to hear of changes`, async () => { client = await open(); });
  if (!client) return;
  try {
    const [updates, lists] = [bell(), bell()];
    const begun = await check(`${label}: subscribe to ${name}`, () => client.hear(uri, updates.ring, lists.ring));
    if (!begun) return;
    await check(`${label}: resources/updated`, async () => {
      writeFileSync(join(folder, name), "after");
      do {
        assert.deepEqual(await updates.next(), uri);
      } while ((await client.read(uri))[0].text !== "after");
    });
    await check(`${label}: resources/list_changed`, async () => {
      writeFileSync(join(folder, `new-${name}`), "new");
      do await lists.next(); while (!(await pages(client.listPage)).some((entry) => entry.uri === added));
    });
  } finally {
    await check(`${label}: close`, () => client.close());
  }
}

/** A client that goes on by itself where its connection broke hears what changed meanwhile. `open(fetch)` uses this to
 *  open its streams. */
export async function resumes(label, folder, open) {
  const name = `${label.replace(/[^a-z0-9]+/g, "-")}-resumes.txt`;
  const uri = `file:///docs/${name}`;
  writeFileSync(join(folder, name), "before");
  const streams = [];
  const cuttable = (input, init) => {
    if (init?.method !== "GET") return fetch(input, init);
    const scissors = new AbortController();
    streams.push({ last: new Headers(init.headers).get("last-event-id"), cut: () => scissors.abort() });
    return fetch(input, { ...init, signal: AbortSignal.any([init.signal, scissors.signal]) });
  };
  let client;
  await check(`${label}: connect to be cut off`, async () => { client = await open(cuttable); });
  if (!client) return;
  const updates = bell();
  await check(`${label}: goes on after the last event`, async () => {
    await client.hear(uri, updates.ring, () => {});
    writeFileSync(join(folder, name), "first");
    assert.equal(await updates.next(), uri);
    streams.at(-1).cut();
    writeFileSync(join(folder, name), "second, while nobody listens");
    do assert.equal(await updates.next(), uri);
    while (streams.length < 2 || !(await client.read(uri))[0].text.startsWith("second"));
    assert.equal(streams[0].last, null);
    assert.match(streams.at(-1).last, /^[0-9a-f]+-0-[0-9]+$/);
  });
  await check(`${label}: close`, () => client.close());
}

/** What was heard and not yet taken. */
function bell() {
  const heard = [];
  let wake = () => {};
  return {
    ring: (what) => { heard.push(what); wake(); },
    next: async () => {
      if (heard.length === 0) {
        await new Promise((resolve, reject) => {
          const late = () => reject(new Error(`nothing was heard in ${HEARD_WITHIN_MS / 1000} s`));
          const timer = setTimeout(late, HEARD_WITHIN_MS);
          wake = () => { clearTimeout(timer); resolve(); };
        });
      }
      return heard.shift();
    },
  };
}

/** Ends the process; nothing that a client left behind keeps it alive. */
export function finish() {
  console.log(`${passed} checks passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

setTimeout(() => {
  console.log(`FAIL  gave up after ${GIVE_UP_MS / 1000} s`);
  process.exit(1);
}, GIVE_UP_MS).unref();

async function everything(label, client, notFound) {
  await check(`${label}: list to the last page`, async () => {
    sameEntries(await pages(client.listPage));
  });
  if (client.walk) await check(`${label}: list by one call`, async () => sameEntries(await client.walk()));
  await check(`${label}: templates`, async () => {
    const templates = await pages(client.templatesPage);
    assert.deepEqual(templates.map((t) => t.uriTemplate).sort(), [...expected.templates].sort());
  });
  for (const want of expected.reads) {
    await check(`${label}: read ${want.name}`, async () => sameContents(await client.read(want.uri), want));
  }
  await check(`${label}: not found`, async () => {
    await assert.rejects(() => client.read(expected.missing), (error) => (notFound(error), true));
  });
  if (client.complete) {
    for (const { template, variable, prefix, values } of expected.completions) {
      await check(`${label}: complete ${variable} of ${template}`, async () =>
        assert.deepEqual(await client.complete(template, variable, prefix), values));
    }
  }
  if (client.watch) await check(`${label}: watch`, () => client.watch(expected.watched));
}

async function pages(page) {
  const all = [];
  for (let cursor, count = 0; ; count += 1) {
    assert.ok(count < 100, "the pages do not end");
    const { items, next, whole } = await page(cursor);
    assert.ok(whole || items.length <= expected.page_size, `a page of ${items.length}`);
    all.push(...items);
    if (next === undefined) return all;
    assert.notEqual(next, cursor, "the cursor goes round in circles");
    cursor = next;
  }
}

function sameEntries(entries) {
  const seen = entries.map(({ uri, mimeType }) => ({ uri, mimeType }));
  assert.deepEqual(seen.sort(byUri), [...expected.resources].sort(byUri));
  for (const entry of entries) assert.ok(entry.name, `${entry.uri} has no name`);
}

function sameContents(contents, want) {
  assert.equal(contents.length, 1);
  const [content] = contents;
  assert.equal(content.uri, want.uri);
  assert.equal(content.mimeType, want.mimeType);
  if (want.text !== undefined) assert.equal(content.text, want.text);
  if (want.json) assert.partialDeepStrictEqual(JSON.parse(content.text), want.json);
  if (want.blob_starts) assert.ok(content.blob.startsWith(want.blob_starts), content.blob.slice(0, 20));
}

const byUri = (a, b) => (a.uri < b.uri ? -1 : a.uri > b.uri ? 1 : 0);
