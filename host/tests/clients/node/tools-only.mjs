// A client that only supports tools, with both versions of the TypeScript SDK: it reads this repository's documents and
// searches in them, with no request but tools/list and tools/call. The SDK compares results with the output schemas.
//   node tools-only.mjs URL FOLDER COMMAND [ARGUMENT...]
//   The command starts a server on stdio. It and the server at the URL serve the folder as /docs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { check, finish } from "./checks.mjs";

const [url, folder, command, ...args] = process.argv.slice(2);
const README = "file:///docs/README.md";
const TOOLS = ["list_resources", "list_resource_templates", "read_resource", "search_resources", "search", "fetch"];
const requestInit = { headers: { Authorization: `Bearer ${process.env.LARDER_TOKEN}` } };

const v1 = async (isHttp) => {
  const client = new ClientV1({ name: "larder-test-v1", version: "1" }, { capabilities: {} });
  await client.connect(isHttp ? new HttpV1(new URL(url), { requestInit }) : new StdioV1({ command, args }));
  return client;
};
const v2 = (mode) => async (isHttp) => {
  const client = new Client({ name: "larder-test-v2", version: "1" }, mode ? { versionNegotiation: { mode } } : {});
  const http = () => new StreamableHTTPClientTransport(new URL(url), { requestInit });
  await client.connect(isHttp ? http() : new StdioClientTransport({ command, args }));
  return client;
};

async function structured(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

for (const [sdk, open] of [["v1", v1], ["v2 legacy", v2()], ["v2 modern", v2({ pin: "2026-07-28" })]]) {
  for (const transport of ["http", "stdio"]) {
    const label = `tools only, ts ${sdk}, ${transport}`;
    let client;
    if (!(await check(`${label}: connect`, async () => { client = await open(transport === "http"); }))) continue;
    await check(`${label}: tools`, async () => {
      assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), TOOLS);
    });
    await check(`${label}: read`, async () => {
      const text = readFileSync(join(folder, "README.md"), "utf8");
      const result = await client.callTool({ name: "read_resource", arguments: { uri: README } });
      assert.deepEqual(result.content, [{ type: "text", text }]);
      assert.equal((await structured(client, "fetch", { id: README })).text, text);
    });
    await check(`${label}: search`, async () => {
      const { results } = await structured(client, "search", { query: "readme" });
      assert.ok(results.some((result) => result.id === README && result.title && result.url), JSON.stringify(results));
      const found = await structured(client, "search_resources", { query: "readme", limit: 3 });
      assert.ok(found.results.length <= 3 && found.results.some((result) => result.uri === README));
    });
    await check(`${label}: list`, async () => {
      const { resources } = await structured(client, "list_resources", { text: "README.md" });
      assert.ok(resources.some((resource) => resource.uri === README));
    });
    await check(`${label}: close`, () => client.close());
  }
}
finish();
