// LangChain for JavaScript: @langchain/mcp-adapters. The arguments are those of checks.py.

import assert from "node:assert/strict";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

const [documentsUrl, fixturesUrl, program, documentsConfig, fixturesConfig] = process.argv.slice(2);
const DOCUMENTS = { "file:///docs/notes.md": "# Notes\n", "file:///docs/%C3%BCber%20uns.txt": "Über uns\n" };
const TOOL = "test_simple_text";

let [passed, failed] = [0, 0];

async function check(label, servers, body) {
  const client = new MultiServerMCPClient({ mcpServers: servers });
  try {
    await body(client);
    passed += 1;
    console.log(`ok    LangChain for JavaScript, ${label}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  LangChain for JavaScript, ${label}: ${error}`);
  } finally {
    await client.close();
  }
}

const http = (url) => ({ transport: "http", url, headers: { Authorization: `Bearer ${process.env.LARDER_TOKEN}` } });
const stdio = (config) => ({ transport: "stdio", command: program, args: ["serve", "--stdio", "--config", config] });

async function checkDocuments(client) {
  assert.deepEqual(await client.getTools(), []);
  const { documents } = await client.listResources();
  assert.deepEqual(documents.map(({ uri }) => uri).sort(), Object.keys(DOCUMENTS).sort());
  for (const [uri, text] of Object.entries(DOCUMENTS)) {
    const [content] = await client.readResource("documents", uri);
    assert.equal(content.text, text);
  }
}

async function checkFixtures(client) {
  const tool = (await client.getTools()).find(({ name }) => name === TOOL);
  assert.equal(await tool.invoke({}), "This is a simple text response for testing.");
}

const transports = {
  HTTP: { documents: http(documentsUrl), fixtures: http(fixturesUrl) },
  stdio: { documents: stdio(documentsConfig), fixtures: stdio(fixturesConfig) },
};
for (const [transport, { documents, fixtures }] of Object.entries(transports)) {
  await check(`${transport}: resources only`, { documents }, checkDocuments);
  await check(`${transport}: tools`, { fixtures }, checkFixtures);
  await check(`${transport}: both servers`, { documents, fixtures }, checkFixtures);
}
console.log(`${passed} checks passed, ${failed} failed`);
process.exitCode = passed && !failed ? 0 : 1;
