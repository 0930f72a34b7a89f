// The inspector's command line: one process for each question, in each era.
//   node inspector.mjs URL FOLDER COMMAND [ARGUMENT...]     the command serves on stdio, and
//   whoever serves shows the folder as /docs. Of changes it hears nothing: `--cli` has methods of one
//   question and one answer only, neither `resources/subscribe` nor `subscriptions/listen`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { finish, session } from "./checks.mjs";

const [url, , command, ...args] = process.argv.slice(2);
const inspector = fileURLToPath(new URL("node_modules/.bin/inspector", import.meta.url));

function ask(target, era, ...question) {
  const words = ["--cli", "--protocol-era", era, "--format", "json", ...question, ...target];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [inspector, ...words], { timeout: 30_000 }, (error, stdout, stderr) => {
      if (error) reject(Object.assign(error, { stdout, stderr }));
      else resolve(JSON.parse(stdout).result);
    });
  });
}

// The exit code and the message are all that the command line tells.
const notFound = (error) => {
  assert.equal(error.code, 1, error.message);
  assert.match(error.stdout + error.stderr, /not found/i);
};

const open = async (target, era) => ({
  listPage: async () => {
    const { resources, nextCursor } = await ask(target, era, "--method", "resources/list");
    assert.equal(nextCursor, undefined, "the inspector stopped before the last page");
    return { items: resources, whole: true };
  },
  templatesPage: async () => {
    const { resourceTemplates } = await ask(target, era, "--method", "resources/templates/list");
    return { items: resourceTemplates, whole: true };
  },
  read: async (uri) => (await ask(target, era, "--method", "resources/read", "--uri", uri)).contents,
  close: async () => {},
});

for (const era of ["legacy", "modern", "auto"]) {
  const http = ["--server-url", url, "--transport", "http", "--header", `Authorization: Bearer ${process.env.LARDER_TOKEN}`];
  await session(`inspector ${era}, http`, () => open(http, era), notFound);
  await session(`inspector ${era}, stdio`, () => open(["--", command, ...args], era), notFound);
}
finish();
