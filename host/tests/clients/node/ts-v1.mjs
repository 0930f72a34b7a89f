// The TypeScript SDK, version 1: it supports the legacy era only.
//   node ts-v1.mjs URL FOLDER COMMAND [ARGUMENT...]
//   The command starts a server on stdio. It and the server at the URL serve the folder as /docs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { check, checkNotifications, checkRestart, checkResume, finish, session } from "./checks.mjs";
import { interactions } from "./interactions.mjs";

const [url, folder, command, ...args] = process.argv.slice(2);

const notFound = (error) => {
  assert.equal(error.code, -32002);
  assert.equal(error.data?.uri, "test://nonexistent");
};

const open = async (transport, more = () => ({}), capabilities = {}) => {
  const client = new Client({ name: "larder-test-v1", version: "1" }, { capabilities });
  const added = more(client);
  await client.connect(transport);
  return {
    ...added,
    listPage: async (cursor) => {
      const { resources, nextCursor } = await client.listResources({ cursor });
      return { items: resources, next: nextCursor };
    },
    templatesPage: async (cursor) => {
      const { resourceTemplates, nextCursor } = await client.listResourceTemplates({ cursor });
      return { items: resourceTemplates, next: nextCursor };
    },
    read: async (uri) => (await client.readResource({ uri })).contents,
    complete: async (uri, name, value) =>
      (await client.complete({ ref: { type: "ref/resource", uri }, argument: { name, value } })).completion.values,
    watch: async (uri) => {
      await client.subscribeResource({ uri });
      await client.unsubscribeResource({ uri });
      await client.ping();
    },
    onChange: async (uri, updated, listChanged) => {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated(params.uri));
      client.setNotificationHandler(ResourceListChangedNotificationSchema, () => listChanged());
      await client.subscribeResource({ uri });
    },
    close: async () => {
      if (transport.terminateSession) await transport.terminateSession();
      await client.close();
    },
  };
};

/** A client that answers questions, and has tools and prompts. */
const openInteractive = (transport) => {
  const [answers, asked] = [{}, []];
  const interactive = (client) => {
    for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema]) {
      client.setRequestHandler(schema, (request) => {
        asked.push(request);
        return answers[request.method];
      });
    }
    return {
      answers,
      asked,
      progress: true,
      toolsPage: async (cursor) => {
        const { tools, nextCursor } = await client.listTools({ cursor });
        return { items: tools, next: nextCursor };
      },
      promptsPage: async (cursor) => {
        const { prompts, nextCursor } = await client.listPrompts({ cursor });
        return { items: prompts, next: nextCursor };
      },
      call: (name, values, options) => client.callTool({ name, arguments: values }, undefined, options),
      prompt: async (name, values) => (await client.getPrompt({ name, arguments: values })).messages,
      completeArgument: async (prompt, name, value) =>
        (await client.complete({ ref: { type: "ref/prompt", name: prompt }, argument: { name, value } })).completion.values,
      onLists: async (tools, prompts) => {
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => tools(true));
        client.setNotificationHandler(PromptListChangedNotificationSchema, () => prompts(true));
      },
    };
  };
  return open(transport, interactive, { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
};

const requestInit = { headers: { Authorization: `Bearer ${process.env.LARDER_TOKEN}` } };
const http = (fetch) => open(new StreamableHTTPClientTransport(new URL(url), { fetch, requestInit }));
const stdio = () => open(new StdioClientTransport({ command, args }));
await check("ts v1: a client without a token is refused", () =>
  assert.rejects(open(new StreamableHTTPClientTransport(new URL(url))), /401|token/i));
await session("ts v1, http", () => http(), notFound);
await session("ts v1, stdio", stdio, notFound);
await check("ts v1: a second session after the first", () => http().then((second) => second.close()));
await interactions("ts v1, http", folder, () => openInteractive(new StreamableHTTPClientTransport(new URL(url), { requestInit })));
await interactions("ts v1, stdio", folder, () => openInteractive(new StdioClientTransport({ command, args })));
await checkNotifications("ts v1, http", folder, () => http());
await checkNotifications("ts v1, stdio", folder, stdio);
await checkResume("ts v1, http", folder, http);
// The server on stdio has the same configuration. The client tries twice by default, which a loaded machine may exceed.
const serve = (address) => spawn(command, ["serve", ...args.slice(args.indexOf("--config")), "--listen", address, "--admin", "off"], {
  stdio: ["ignore", "ignore", "pipe"],
  env: { ...process.env, XDG_STATE_HOME: join(folder, "../state") },
});
const reconnectionOptions = {
  initialReconnectionDelay: 500, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 1, maxRetries: 60,
};
await checkRestart("ts v1, http", folder, serve, (address) =>
  open(new StreamableHTTPClientTransport(address, { requestInit, reconnectionOptions })));
finish();
