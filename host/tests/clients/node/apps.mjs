// The official example apps through the provider `remote`: each tool, page and result is the same as without Larder, and
// pages get only the domains that are granted. What the official schemas and functions say of it decides.
// `node apps.mjs LARDER REMOTE_COMPONENT`

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpUiResourceMetaSchema, McpUiToolMetaSchema, RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps';
import { getToolUiResourceUri, isToolVisibilityAppOnly } from '@modelcontextprotocol/ext-apps/app-bridge';

const UI = 'io.modelcontextprotocol/ui';
const WITH_APPS = { extensions: { [UI]: { mimeTypes: [RESOURCE_MIME_TYPE] } } };
const EXAMPLES = {
  'mcp-server-basic-vanillajs': { granted: '', csp: undefined },
  'mcp-map-server': {
    granted: 'apps = { connect_domains = ["https://*.openstreetmap.org"] }\n',
    csp: { connectDomains: ['https://*.openstreetmap.org'] },
  },
};
const [larder, component] = process.argv.slice(2);

for (const [program, example] of Object.entries(EXAMPLES)) {
  await check(program, example);
}

async function check(program, { granted, csp }) {
  const folder = mkdtempSync(join(tmpdir(), 'larder-apps-'));
  const origin = `http://127.0.0.1:${await freePort()}`;
  const endpoint = `127.0.0.1:${await freePort()}`;
  const processes = [startExample(program, origin)];
  try {
    const direct = await connected(`${origin}/mcp`, WITH_APPS);
    processes.push(startLarder(folder, origin, endpoint, granted));
    const through = await connected(`http://${endpoint}/mcp`, WITH_APPS);
    assert.ok(through.getServerCapabilities().extensions[UI], 'the extension is not declared');
    const tools = await compareTools(direct, through);
    const pages = await comparePages(direct, through, tools, csp);
    const without = await connected(`http://${endpoint}/mcp`, {});
    const shown = (await without.listTools()).tools.map(({ name }) => name);
    const expected = tools.filter((tool) => !isToolVisibilityAppOnly(tool)).map(({ name }) => name);
    assert.deepEqual(shown.sort(), expected.sort());
    console.log(`did compare ${tools.length} tools and ${pages} pages of ${program}`);
    await Promise.all([direct, through, without].map((client) => client.close()));
  } finally {
    processes.forEach((process) => process.kill());
    rmSync(folder, { recursive: true });
  }
}

async function compareTools(direct, through) {
  const [expected, actual] = [await direct.listTools(), await through.listTools()];
  const byName = ({ tools }) => tools.sort((a, b) => a.name.localeCompare(b.name));
  const shown = ({ name, title, description, inputSchema, outputSchema, _meta }) =>
    ({ name, title, description, inputSchema, outputSchema, ui: _meta?.ui });
  assert.deepEqual(byName(actual).map(shown), byName(expected).map(shown));
  for (const tool of actual.tools.filter(({ _meta }) => _meta?.ui)) {
    McpUiToolMetaSchema.parse(tool._meta.ui);
  }
  return actual.tools;
}

async function comparePages(direct, through, tools, csp) {
  const uris = new Set(tools.map(getToolUiResourceUri).filter(Boolean));
  assert.ok(uris.size > 0, 'no tool has a page');
  for (const uri of uris) {
    const [expected, actual] = [await direct.readResource({ uri }), await through.readResource({ uri })]
      .map(({ contents }) => contents[0]);
    assert.equal(actual.mimeType, RESOURCE_MIME_TYPE);
    assert.equal(actual.text, expected.text);
    const ui = McpUiResourceMetaSchema.parse(actual._meta?.ui ?? {});
    assert.deepEqual(ui.csp, csp, `the page requested ${JSON.stringify(expected._meta?.ui?.csp)}`);
  }
  return uris.size;
}

async function connected(url, capabilities) {
  for (let attempt = 0; ; attempt += 1) {
    const client = new Client({ name: 'apps', version: '1' }, { capabilities });
    try {
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      return client;
    } catch (error) {
      if (attempt === 300) throw error;
      await pause(100);
    }
  }
}

function startExample(program, origin) {
  const script = join(import.meta.dirname, 'node_modules/.bin', program);
  const env = { ...process.env, PORT: new URL(origin).port };
  return spawn(process.execPath, [script], { env, stdio: ['ignore', 'inherit', 'inherit'] });
}

function startLarder(folder, origin, endpoint, granted) {
  mkdirSync(join(folder, 'plugins'));
  cpSync(component, join(folder, 'plugins/remote.wasm'));
  writeFileSync(join(folder, 'larder.toml'), `state_dir = "state"\n[server]\nlisten = "${endpoint}"\n`
    + '[admin]\nlisten = "off"\n[provider.remote]\ntools = true\n'
    + `hosts = [{ host = "${origin}", methods = ["POST", "DELETE"], private = true }]\nkey_value = ["shared"]\n`
    + `settings = { url = "${origin}/mcp" }\n${granted}`);
  const options = ['serve', '--config', join(folder, 'larder.toml')];
  return spawn(larder, options, { stdio: ['ignore', 'inherit', 'inherit'] });
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
