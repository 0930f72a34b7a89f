// The TypeScript SDK, version 2, in each way it chooses an era.
//   node ts-v2.mjs URL FOLDER COMMAND [ARGUMENT...]     the command serves on stdio, and
//   whoever serves shows the folder as /docs
import assert from "node:assert/strict";
import { Client, ResourceNotFoundError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { finish, hears, resumes, session } from "./checks.mjs";

const [url, folder, command, ...args] = process.argv.slice(2);

const notFound = (error) => {
  assert.ok(error instanceof ResourceNotFoundError, `${error?.name}: ${error?.message}`);
  assert.equal(error.code, -32602);
};

const open = async (mode, era, transport) => {
  const options = mode ? { versionNegotiation: { mode } } : {};
  const client = new Client({ name: "larder-test-v2", version: "1" }, options);
  await client.connect(transport);
  assert.equal(client.getProtocolEra(), era);
  return {
    // `listResources()` walks all pages by itself; only a plain request shows them one by one.
    listPage: async (cursor) => {
      const { resources, nextCursor } = await client.request({ method: "resources/list", params: { cursor } });
      return { items: resources, next: nextCursor };
    },
    templatesPage: async (cursor) => {
      const request = { method: "resources/templates/list", params: { cursor } };
      const { resourceTemplates, nextCursor } = await client.request(request);
      return { items: resourceTemplates, next: nextCursor };
    },
    walk: async () => (await client.listResources()).resources,
    read: async (uri) => (await client.readResource({ uri }, { cacheMode: "bypass" })).contents,
    complete: async (uri, name, value) =>
      (await client.complete({ ref: { type: "ref/resource", uri }, argument: { name, value } })).completion.values,
    watch: (uri) => (era === "modern" ? listens(client, uri) : subscribes(client, uri)),
    hear: async (uri, updated, listChanged) => {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => updated(params.uri));
      client.setNotificationHandler("notifications/resources/list_changed", () => listChanged());
      if (era === "legacy") return client.subscribeResource({ uri });
      return client.listen({ resourcesListChanged: true, resourceSubscriptions: [uri] });
    },
    close: () => client.close(),
  };
};

async function listens(client, uri) {
  const listening = await client.listen({ resourcesListChanged: true, resourceSubscriptions: [uri] });
  assert.deepEqual(listening.honoredFilter.resourceSubscriptions, [uri]);
  assert.equal(listening.honoredFilter.resourcesListChanged, true);
  await listening.close();
  assert.equal(await listening.closed, "local");
}

async function subscribes(client, uri) {
  await client.subscribeResource({ uri });
  await client.unsubscribeResource({ uri });
}

const modes = [
  ["default", undefined, "legacy"],
  ["auto", "auto", "modern"],
  ["pinned", { pin: "2026-07-28" }, "modern"],
];
const requestInit = { headers: { Authorization: `Bearer ${process.env.LARDER_TOKEN}` } };
const http = (mode, era, fetch) =>
  open(mode, era, new StreamableHTTPClientTransport(new URL(url), { fetch, requestInit }));
const stdio = (mode, era) => open(mode, era, new StdioClientTransport({ command, args }));
for (const [label, mode, era] of modes) {
  await session(`ts v2 ${label}, http`, () => http(mode, era), notFound);
  await session(`ts v2 ${label}, stdio`, () => stdio(mode, era), notFound);
}
for (const [label, mode, era] of modes) {
  await hears(`ts v2 ${label}, http`, folder, () => http(mode, era));
  await hears(`ts v2 ${label}, stdio`, folder, () => stdio(mode, era));
}
await resumes("ts v2 default, http", folder, (fetch) => http(undefined, "legacy", fetch));
finish();
