// The command line of the MCP inspector: one process for each request, in each era.
//   node inspector.mjs URL FOLDER COMMAND [ARGUMENT...]
//   The command starts a server on stdio. It and the server at the URL serve the folder as /docs.
// Notifications are not checked: `--cli` supports methods with a single response only, neither
// `resources/subscribe` nor `subscriptions/listen`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { finish, session } from "./checks.mjs";

const [url, , command, ...args] = process.argv.slice(2);
const inspector = fileURLToPath(new URL("node_modules/.bin/inspector", import.meta.url));

function send(target, era, ...request) {
  const options = ["--cli", "--protocol-era", era, "--format", "json", ...request, ...target];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [inspector, ...options], { timeout: 30_000 }, (error, stdout, stderr) => {
      if (error) reject(Object.assign(error, { stdout, stderr }));
      else resolve(JSON.parse(stdout).result);
    });
  });
}

// The command line reports the exit code and the message only.
const notFound = (error) => {
  assert.equal(error.code, 1, error.message);
  assert.match(error.stdout + error.stderr, /not found/i);
};

const open = async (target, era) => ({
  listPage: async () => {
    const { resources, nextCursor } = await send(target, era, "--method", "resources/list");
    assert.equal(nextCursor, undefined, "the inspector stopped before the last page");
    return { items: resources, allPages: true };
  },
  templatesPage: async () => {
    const { resourceTemplates } = await send(target, era, "--method", "resources/templates/list");
    return { items: resourceTemplates, allPages: true };
  },
  read: async (uri) => (await send(target, era, "--method", "resources/read", "--uri", uri)).contents,
  close: async () => {},
});

for (const era of ["legacy", "modern", "auto"]) {
  const http = ["--server-url", url, "--transport", "http", "--header", `Authorization: Bearer ${process.env.LARDER_TOKEN}`];
  await session(`inspector ${era}, http`, () => open(http, era), notFound);
  await session(`inspector ${era}, stdio`, () => open(["--", command, ...args], era), notFound);
}
finish();
