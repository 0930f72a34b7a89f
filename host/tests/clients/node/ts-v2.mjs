// The TypeScript SDK, version 2, with each way of choosing the era.
//   node ts-v2.mjs URL FOLDER COMMAND [ARGUMENT...]
//   The command starts a server on stdio. It and the server at the URL serve the folder as /docs.
import assert from "node:assert/strict";
import { Client, ResourceNotFoundError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { checkNotifications, checkResume, finish, session } from "./checks.mjs";
import { interactions } from "./interactions.mjs";

const [url, folder, command, ...args] = process.argv.slice(2);

const notFound = (error) => {
  assert.ok(error instanceof ResourceNotFoundError, `${error?.name}: ${error?.message}`);
  assert.equal(error.code, -32602);
};

const open = async (mode, era, transport, more = () => ({}), capabilities = {}) => {
  const options = mode ? { versionNegotiation: { mode } } : {};
  const client = new Client({ name: "larder-test-v2", version: "1" }, { ...options, capabilities });
  const added = more(client);
  await client.connect(transport);
  assert.equal(client.getProtocolEra(), era);
  return {
    ...added,
    // `listResources()` follows all cursors itself. Only a plain request returns a single page.
    listPage: async (cursor) => {
      const { resources, nextCursor } = await client.request({ method: "resources/list", params: { cursor } });
      return { items: resources, next: nextCursor };
    },
    templatesPage: async (cursor) => {
      const request = { method: "resources/templates/list", params: { cursor } };
      const { resourceTemplates, nextCursor } = await client.request(request);
      return { items: resourceTemplates, next: nextCursor };
    },
    listAll: async () => (await client.listResources()).resources,
    read: async (uri) => (await client.readResource({ uri }, { cacheMode: "bypass" })).contents,
    complete: async (uri, name, value) =>
      (await client.complete({ ref: { type: "ref/resource", uri }, argument: { name, value } })).completion.values,
    watch: (uri) => (era === "modern" ? listenOnce(client, uri) : subscribeOnce(client, uri)),
    onChange: async (uri, updated, listChanged) => {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => updated(params.uri));
      client.setNotificationHandler("notifications/resources/list_changed", () => listChanged());
      if (era === "legacy") return client.subscribeResource({ uri });
      return client.listen({ resourcesListChanged: true, resourceSubscriptions: [uri] });
    },
    close: () => client.close(),
  };
};

/** A client that answers questions, and has tools and prompts. */
const openInteractive = (mode, era, transport) => {
  const [answers, asked] = [{}, []];
  const interactive = (client) => {
    for (const method of ["elicitation/create", "sampling/createMessage", "roots/list"]) {
      client.setRequestHandler(method, (request) => {
        asked.push(request);
        return answers[method];
      });
    }
    return {
      answers,
      asked,
      progress: true,
      toolsPage: async (cursor) => {
        const { tools, nextCursor } = await client.request({ method: "tools/list", params: { cursor } });
        return { items: tools, next: nextCursor };
      },
      promptsPage: async (cursor) => {
        const { prompts, nextCursor } = await client.request({ method: "prompts/list", params: { cursor } });
        return { items: prompts, next: nextCursor };
      },
      call: (name, values, options) => client.callTool({ name, arguments: values }, options),
      prompt: async (name, values) => (await client.getPrompt({ name, arguments: values })).messages,
      completeArgument: async (prompt, name, value) =>
        (await client.complete({ ref: { type: "ref/prompt", name: prompt }, argument: { name, value } })).completion.values,
      onLists: async (tools, prompts) => {
        client.setNotificationHandler("notifications/tools/list_changed", () => tools(true));
        client.setNotificationHandler("notifications/prompts/list_changed", () => prompts(true));
        if (era === "modern") await client.listen({ toolsListChanged: true, promptsListChanged: true });
      },
    };
  };
  return open(mode, era, transport, interactive, { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
};

async function listenOnce(client, uri) {
  const subscription = await client.listen({ resourcesListChanged: true, resourceSubscriptions: [uri] });
  assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [uri]);
  assert.equal(subscription.honoredFilter.resourcesListChanged, true);
  await subscription.close();
  assert.equal(await subscription.closed, "local");
}

async function subscribeOnce(client, uri) {
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
  const http = () => new StreamableHTTPClientTransport(new URL(url), { requestInit });
  const stdio = () => new StdioClientTransport({ command, args });
  await interactions(`ts v2 ${label}, http`, folder, () => openInteractive(mode, era, http()));
  await interactions(`ts v2 ${label}, stdio`, folder, () => openInteractive(mode, era, stdio()));
}
for (const [label, mode, era] of modes) {
  await checkNotifications(`ts v2 ${label}, http`, folder, () => http(mode, era));
  await checkNotifications(`ts v2 ${label}, stdio`, folder, () => stdio(mode, era));
}
await checkResume("ts v2 default, http", folder, (fetch) => http(undefined, "legacy", fetch));
finish();
