// The checks that every client must pass. The script of each client provides an adapter:
//   listPage(cursor) and templatesPage(cursor) return {items, next}; read(uri) returns contents.
//   Optional: complete(template, variable, prefix) returns values; listAll() returns the entries of all
//   pages, for a client that follows cursors itself; watch(uri) subscribes and unsubscribes;
//   onChange(uri, updated, listChanged) subscribes and calls back for each notification.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

export const expected = JSON.parse(readFileSync(new URL("../expected.json", import.meta.url)));
const { prefix, count, digits, mimeType } = expected.numbered;
for (let n = 1; n <= count; n += 1) {
  expected.resources.push({ uri: prefix + String(n).padStart(digits, "0"), mimeType });
}
assert.ok(expected.resources.length > 2 * expected.page_size, "the list needs at least three pages");

// More than the slowest script needs on a loaded machine.
const TIMEOUT_MS = 480_000;
// More than a loaded machine needs for one notification.
const NOTIFICATION_TIMEOUT_MS = 30_000;
let failed = 0;
let passed = 0;

/** Runs one check and prints its result. Returns whether it passed. */
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

/** Opens a client, runs all checks of one session, and closes it even if they fail. */
export async function session(label, open, notFound) {
  let client;
  await check(`${label}: connect`, async () => { client = await open(); });
  if (!client) return;
  try {
    await sessionChecks(label, client, notFound);
  } finally {
    await check(`${label}: close`, () => client.close());
  }
}

/** Checks that a client is notified of a changed file and of a new file. It must run after all sessions, which
 *  expect the initial files only. */
export async function checkNotifications(label, folder, open) {
  const name = `${label.replace(/[^a-z0-9]+/g, "-")}.txt`;
  const [uri, added] = [`file:///docs/${name}`, `file:///docs/new-${name}`];
  writeFileSync(join(folder, name), "before");
  let client;
  await check(`${label}: connect for notifications`, async () => { client = await open(); });
  if (!client) return;
  try {
    const [updates, lists] = [notificationQueue(), notificationQueue()];
    const subscribed = await check(`${label}: subscribe to ${name}`, () => client.onChange(uri, updates.push, lists.push));
    if (!subscribed) return;
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

/** Checks that a client that resumes a broken stream itself gets the notifications that it missed. `open(fetch)`
 *  opens the client's streams with this `fetch`, so that the check can break them. */
export async function checkResume(label, folder, open) {
  const name = `${label.replace(/[^a-z0-9]+/g, "-")}-resumes.txt`;
  const uri = `file:///docs/${name}`;
  writeFileSync(join(folder, name), "before");
  const streams = [];
  const breakableFetch = (input, init) => {
    if (init?.method !== "GET") return fetch(input, init);
    const breaker = new AbortController();
    streams.push({ last: new Headers(init.headers).get("last-event-id"), break: () => breaker.abort() });
    return fetch(input, { ...init, signal: AbortSignal.any([init.signal, breaker.signal]) });
  };
  let client;
  await check(`${label}: connect for a broken stream`, async () => { client = await open(breakableFetch); });
  if (!client) return;
  const updates = notificationQueue();
  await check(`${label}: resume after the last event`, async () => {
    await client.onChange(uri, updates.push, () => {});
    writeFileSync(join(folder, name), "first");
    assert.equal(await updates.next(), uri);
    streams.at(-1).break();
    writeFileSync(join(folder, name), "second, while the stream is broken");
    do assert.equal(await updates.next(), uri);
    while (streams.length < 2 || !(await client.read(uri))[0].text.startsWith("second"));
    assert.equal(streams[0].last, null);
    assert.match(streams.at(-1).last, /^[0-9a-f]+-0-[0-9]+$/);
  });
  await check(`${label}: close`, () => client.close());
}

/** Checks that a client keeps its session when the server restarts, and is notified of what changed meanwhile.
 *  `serve(address)` starts a server, and `open(url)` a client. */
export async function checkRestart(label, folder, serve, open) {
  const name = `${label.replace(/[^a-z0-9]+/g, "-")}-restart.txt`;
  const uri = `file:///docs/${name}`;
  writeFileSync(join(folder, name), "before");
  const address = `127.0.0.1:${await freePort()}`;
  let server = await started(serve(address));
  let client;
  try {
    const connected = await check(`${label}: connect before a restart`, async () => {
      client = await open(new URL(`http://${address}/mcp`));
    });
    if (!connected) return;
    const updates = notificationQueue();
    await client.onChange(uri, updates.push, () => {});
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      await check(`${label}: continue after ${signal}`, async () => {
        await stopped(server, signal);
        writeFileSync(join(folder, name), `changed before the start after ${signal}`);
        server = await started(serve(address));
        assert.equal((await client.read(uri))[0].text, `changed before the start after ${signal}`);
        assert.equal(await updates.next(), uri);
        writeFileSync(join(folder, name), `changed after ${signal}`);
        do assert.equal(await updates.next(), uri);
        while ((await client.read(uri))[0].text !== `changed after ${signal}`);
      });
    }
    await check(`${label}: close after the restarts`, () => client.close());
  } finally {
    server.kill("SIGKILL");
  }
}

const freePort = () => new Promise((resolve, reject) => {
  const probe = createServer().once("error", reject);
  probe.listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});

/** Waits until a server that was spawned answers. */
const started = (server) => new Promise((resolve, reject) => {
  let log = "";
  server.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
  server.stderr.on("data", (text) => {
    log += text;
    if (log.includes("serves http://")) resolve(server);
  });
});

const stopped = (server, signal) => new Promise((resolve) => {
  server.on("exit", resolve);
  server.kill(signal);
});

/** The notifications that were received and not yet taken. */
export function notificationQueue() {
  const received = [];
  let wake = () => {};
  return {
    push: (notification) => { received.push(notification); wake(); },
    waiting: () => received.length,
    next: async () => {
      if (received.length === 0) {
        await new Promise((resolve, reject) => {
          const fail = () => reject(new Error(`no notification within ${NOTIFICATION_TIMEOUT_MS / 1000} s`));
          const timer = setTimeout(fail, NOTIFICATION_TIMEOUT_MS);
          wake = () => { clearTimeout(timer); resolve(); };
        });
      }
      return received.shift();
    },
  };
}

/** Exits, even if a client left handles open that would keep the process alive. */
export function finish() {
  console.log(`${passed} checks passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

setTimeout(() => {
  console.log(`FAIL  timed out after ${TIMEOUT_MS / 1000} s`);
  process.exit(1);
}, TIMEOUT_MS).unref();

/** All checks of one session. */
async function sessionChecks(label, client, notFound) {
  await check(`${label}: list to the last page`, async () => {
    checkEntries(await pages(client.listPage));
  });
  if (client.listAll) await check(`${label}: list by one call`, async () => checkEntries(await client.listAll()));
  await check(`${label}: templates`, async () => {
    const templates = await pages(client.templatesPage);
    assert.deepEqual(templates.map((t) => t.uriTemplate).sort(), [...expected.templates].sort());
  });
  for (const expectedRead of expected.reads) {
    await check(`${label}: read ${expectedRead.name}`, async () => checkContents(await client.read(expectedRead.uri), expectedRead));
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

/** Follows the cursors to the last page, and returns all items. */
export async function pages(page) {
  const all = [];
  for (let cursor, count = 0; ; count += 1) {
    assert.ok(count < 100, "the pages do not end");
    const { items, next, allPages } = await page(cursor);
    assert.ok(allPages || items.length <= expected.page_size, `a page of ${items.length}`);
    all.push(...items);
    if (next === undefined) return all;
    assert.notEqual(next, cursor, "the cursor does not advance");
    cursor = next;
  }
}

function checkEntries(entries) {
  const seen = entries.map(({ uri, mimeType }) => ({ uri, mimeType }));
  assert.deepEqual(seen.sort(byUri), [...expected.resources].sort(byUri));
  for (const entry of entries) assert.ok(entry.name, `${entry.uri} has no name`);
}

function checkContents(contents, expectedRead) {
  assert.equal(contents.length, 1);
  const [content] = contents;
  assert.equal(content.uri, expectedRead.uri);
  assert.equal(content.mimeType, expectedRead.mimeType);
  if (expectedRead.text !== undefined) assert.equal(content.text, expectedRead.text);
  if (expectedRead.json) assert.partialDeepStrictEqual(JSON.parse(content.text), expectedRead.json);
  if (expectedRead.blob_starts) assert.ok(content.blob.startsWith(expectedRead.blob_starts), content.blob.slice(0, 20));
}

const byUri = (a, b) => (a.uri < b.uri ? -1 : a.uri > b.uri ? 1 : 0);
