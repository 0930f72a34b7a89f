// The checks of tools and prompts, and the list of what each client did. The adapter of a client provides:
//   toolsPage(cursor) and promptsPage(cursor) return {items, next}; call(name, arguments, options) returns a result;
//   prompt(name, arguments) returns the messages; completeArgument(prompt, argument, prefix) returns values.
//   Optional: `answers`, what the client answers to each method, and `asked`, the requests that it got;
//   onLists(tools, prompts) subscribes and calls back for each notification.
// The features that an adapter lacks are in `without`, with the reason.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { check, expected, notificationQueue, pages } from "./checks.mjs";

// A call that was cancelled must end within this time. It would run five times as long.
const CANCELLATION_MS = 30_000;

/** Runs all checks of one client, and prints what it did. Other calls of tools must not run meanwhile. */
export async function interactions(label, folder, open) {
  let client;
  await check(`${label}: connect for tools`, async () => { client = await open(); });
  if (!client) return;
  const done = [];
  const step = async (name, body) => { if (await check(`${label}: ${name}`, body)) done.push(name); };
  try {
    await lists(client, step);
    await calls(client, step);
    if (client.progress) await step("progress", () => progress(client));
    if (client.progress) await step("cancellation", () => cancellation(client, join(folder, "../fixture/running")));
    if (client.answers) await questions(client, step);
    await prompts(client, step);
    if (client.onLists) await listChanges(client, step);
  } finally {
    await check(`${label}: close`, () => client.close());
  }
  const without = Object.entries(client.without ?? {}).map(([name, why]) => `; without ${name}: ${why}`);
  console.log(`did   ${label}: ${done.join(", ")}${without.join("")}`);
}

async function lists(client, step) {
  for (const [kind, page] of [["tools", client.toolsPage], ["prompts", client.promptsPage]]) {
    await step(`list ${kind}`, async () => {
      const names = (await pages(page)).map(({ name }) => name);
      for (const name of expected[kind]) assert.ok(names.includes(name), `${name} is not among ${names}`);
    });
  }
}

async function calls(client, step) {
  for (const { name, tool, arguments: values = {}, error = false, type, text } of expected.calls) {
    await step(`call (${name})`, async () => {
      const result = await client.call(tool, values);
      assert.equal(result.isError ?? false, error, JSON.stringify(result));
      assert.equal(result.content[0].type, type);
      if (text) assert.ok(result.content[0].text.includes(text), result.content[0].text);
    });
  }
  await step("refuse an unknown tool", async () => {
    await assert.rejects(() => client.call("test_gone", {}), (error) => /Unknown tool|not found/.test(allText(error)));
  });
}

/** The message of an error, and what a command printed. */
const allText = (error) => `${error.message} ${error.stdout ?? ""} ${error.stderr ?? ""}`;

async function progress(client) {
  const reports = [];
  await client.call("test_tool_with_progress", {}, { onprogress: ({ progress }) => reports.push(progress) });
  // The SDK drops a report that it receives together with the result: it removes the handler first.
  assert.ok(reports.length >= 2, `${reports.length} reports`);
  assert.deepEqual(reports, [0, 50, 100].slice(0, reports.length));
}

/** Cancels a call after its third report. The file that the tool writes must then stay the same. */
async function cancellation(client, file) {
  const abort = new AbortController();
  let reports = 0;
  const onprogress = () => { if ((reports += 1) === 3) abort.abort("enough"); };
  await assert.rejects(() => client.call("test_long_running", {}, { onprogress, signal: abort.signal }));
  assert.ok(reports >= 3, `${reports} reports`);
  const deadline = Date.now() + CANCELLATION_MS;
  for (let before; ;) {
    const now = readFileSync(file, "utf8");
    if (now === before) return;
    assert.ok(Date.now() < deadline, `the tool still runs, at ${now}`);
    before = now;
    await sleep(1_000);
  }
}

async function questions(client, step) {
  for (const { name, method, mode, tool, arguments: values, answer, text } of expected.questions) {
    if (client.without?.[name]) continue;
    await step(name, async () => {
      client.answers[method] = answer;
      const before = client.asked.length;
      const result = await client.call(tool, values);
      for (const part of text) assert.ok(result.content[0].text.includes(part), result.content[0].text);
      assert.ok(client.asked.length > before, "the client was not asked");
      assert.equal(client.asked.at(-1).method, method);
      if (mode) assert.equal(client.asked.at(-1).params.mode, mode);
    });
  }
}

async function prompts(client, step) {
  const { name, arguments: values, text, completion } = expected.prompt;
  await step("get a prompt", async () => {
    const [message] = await client.prompt(name, values);
    assert.ok(message.content.text.includes(text), message.content.text);
  });
  await step("refuse a prompt without its arguments", async () => {
    await assert.rejects(() => client.prompt(name, {}), (error) => /is required/.test(allText(error)));
  });
  if (client.completeArgument) {
    await step("complete an argument of a prompt", async () => {
      const values = await client.completeArgument(name, completion.argument, completion.prefix);
      assert.deepEqual(values, completion.values);
    });
  }
  if (client.answers) {
    await step("get a prompt that asks", async () => {
      client.answers["elicitation/create"] = expected.asking_prompt.answer;
      const [message] = await client.prompt(expected.asking_prompt.name, {});
      assert.ok(message.content.text.includes(expected.asking_prompt.text), message.content.text);
    });
  }
}

/** Each list is changed twice. A change of one list is no change of the other. */
async function listChanges(client, step) {
  const queues = { tools: notificationQueue(), prompts: notificationQueue() };
  const page = { tools: client.toolsPage, prompts: client.promptsPage };
  const subscribed = await check("subscribe to the lists", () => client.onLists(queues.tools.push, queues.prompts.push));
  if (!subscribed) return;
  for (const { list, trigger, entry } of expected.changes) {
    await step(`${list}/list_changed`, async () => {
      const has = async () => (await pages(page[list])).some(({ name }) => name === entry);
      const other = list === "tools" ? queues.prompts : queues.tools;
      const before = other.waiting();
      for (const now of await has() ? [false, true] : [true, false]) {
        await client.call(trigger, {});
        do await queues[list].next(); while (await has() !== now);
      }
      assert.equal(other.waiting(), before, "the other list did not change");
    });
  }
}
