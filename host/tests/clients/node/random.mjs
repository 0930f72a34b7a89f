// Random entries, templates, contents and completions, with invalid values in every field: no version of the
// TypeScript SDK may reject an answer. Each provider lists the entries of another seed.
//   node random.mjs URL
import assert from "node:assert/strict";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { check, finish } from "./checks.mjs";

const [url] = process.argv.slice(2);
// Of thousands of entries, more than these are valid or can be repaired.
const MIN_ENTRIES = 1_000;
const READS = 100;
const COMPLETED = "random://completed/{variable}";

const v1 = {
  open: async () => {
    const client = new ClientV1({ name: "larder-test-v1", version: "1" }, { capabilities: {} });
    await client.connect(new TransportV1(new URL(url)));
    return client;
  },
  listPage: (client, cursor) => client.listResources({ cursor }),
  templatesPage: (client, cursor) => client.listResourceTemplates({ cursor }),
};
const v2 = (mode) => ({
  open: async () => {
    const client = new Client({ name: "larder-test-v2", version: "1" }, mode ? { versionNegotiation: { mode } } : {});
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
  },
  listPage: (client, cursor) => client.request({ method: "resources/list", params: { cursor } }),
  templatesPage: (client, cursor) => client.request({ method: "resources/templates/list", params: { cursor } }),
});

async function pages(page, items) {
  const all = [];
  let cursor;
  do {
    const answer = await page(cursor);
    all.push(...answer[items]);
    cursor = answer.nextCursor;
  } while (cursor !== undefined);
  return all;
}

/** What clients do with the fields, beyond the schema of the SDK. */
function checkFields(entry) {
  new URL(entry.uri);
  for (const icon of entry.icons ?? []) assert.match(icon.src, /^(https:\/\/|data:image\/)/);
  if (entry.annotations?.lastModified) assert.ok(!Number.isNaN(Date.parse(entry.annotations.lastModified)));
  if (entry.size !== undefined) assert.ok(Number.isSafeInteger(entry.size), entry.size);
  const own = Object.keys(entry._meta ?? {}).filter((key) => !key.startsWith("dev.larder/"));
  for (const key of own) assert.doesNotMatch(key, /^([^/]*\.)?(modelcontextprotocol|mcp)\.|\.(modelcontextprotocol|mcp)\/|progressToken/);
}

for (const [label, sdk] of [["ts v1", v1], ["ts v2 legacy", v2()], ["ts v2 modern", v2({ pin: "2026-07-28" })]]) {
  let client;
  let entries = [];
  if (!(await check(`${label}: connect`, async () => { client = await sdk.open(); }))) continue;
  await check(`${label}: random entries`, async () => {
    entries = await pages((cursor) => sdk.listPage(client, cursor), "resources");
    assert.ok(entries.length >= MIN_ENTRIES, `${entries.length} entries`);
    for (const entry of entries) checkFields(entry);
  });
  await check(`${label}: random templates`, async () => {
    const templates = await pages((cursor) => sdk.templatesPage(client, cursor), "resourceTemplates");
    assert.ok(templates.some((template) => template.uriTemplate === COMPLETED));
  });
  await check(`${label}: random contents`, async () => {
    for (const { uri } of entries.slice(0, READS)) {
      const { contents } = await client.readResource({ uri });
      assert.ok(contents.length > 0 && contents.every((content) => content.uri === uri), uri);
    }
  });
  await check(`${label}: random completions`, async () => {
    for (let value = 0; value < READS; value += 1) {
      const argument = { name: "variable", value: String(value) };
      await client.complete({ ref: { type: "ref/resource", uri: COMPLETED }, argument });
    }
  });
  await check(`${label}: close`, () => client.close());
}
finish();
