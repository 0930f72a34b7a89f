// The command lines of the MCP inspector, in each era: `inspector --cli`, which is one process for each request, and
// `mcpdo`, which keeps its connections in a process of its own and can therefore answer questions.
//   node inspector.mjs URL FOLDER COMMAND [ARGUMENT...]
//   The command starts a server on stdio. It and the server at the URL serve the folder as /docs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { finish, session } from "./checks.mjs";
import { interactions } from "./interactions.mjs";

const [url, folder, command, ...args] = process.argv.slice(2);

/** Runs a program of the inspector, and returns what it prints. */
function run(program, options) {
  const script = fileURLToPath(new URL(`node_modules/.bin/${program}`, import.meta.url));
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [script, ...options], { timeout: 30_000 }, (error, stdout, stderr) => {
      if (error) reject(Object.assign(error, { stdout, stderr }));
      else resolve(stdout);
    });
  });
}

const send = async (target, era, ...request) => {
  const printed = await run("inspector", ["--cli", "--protocol-era", era, "--format", "json", ...request, ...target]);
  return JSON.parse(printed).result;
};

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

/** Lists, calls and prompts of the command line. It prints one result, so that there are no other messages. */
const openTools = async (target, era) => ({
  toolsPage: async () => ({ items: (await send(target, era, "--method", "tools/list")).tools, allPages: true }),
  promptsPage: async () => ({ items: (await send(target, era, "--method", "prompts/list")).prompts, allPages: true }),
  call: (name, values) => evenIfFailed(async () =>
    send(target, era, "--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(values)),
    (printed) => JSON.parse(printed).result),
  prompt: async (name, values) => {
    const pairs = Object.entries(values).map(([key, value]) => `${key}=${value}`);
    const options = pairs.length === 0 ? [] : ["--prompt-args", ...pairs];
    return (await send(target, era, "--method", "prompts/get", "--prompt-name", name, ...options)).messages;
  },
  without: { "progress, cancellation, questions, completion and list_changed": "it prints results only" },
  close: async () => {},
});

/** Lists, calls, questions and prompts of `mcpdo`, with a connection of this name. */
const openConnection = async (name, target, era) => {
  const mcpdo = async (...options) => JSON.parse(await run("mcpdo", ["--format", "json", "--connection", name, ...options]));
  await mcpdo("connect", "--era", era, ...target);
  const [answers, asked] = [{}, []];
  const respond = async ({ elicitationPending: pending }) => {
    const params = { mode: pending.mode ?? (pending.url ? "url" : "form") };
    asked.push({ method: "elicitation/create", params });
    const { action, content } = answers["elicitation/create"];
    const accept = content ? [JSON.stringify(content)] : ["--done"];
    const options = action === "accept" ? accept : [`--${action}`];
    return mcpdo("elicitation/respond", pending.elicitationId ?? pending.id, ...options);
  };
  const answered = async (result) => {
    while (result.elicitationPending) result = await respond(result);
    return result;
  };
  const once = (method, items) => async () => ({ items: (await mcpdo(method))[items], allPages: true });
  return {
    answers,
    asked,
    toolsPage: once("tools/list", "tools"),
    promptsPage: once("prompts/list", "prompts"),
    call: (tool, values) => evenIfFailed(async () => answered(await mcpdo("tools/call", tool, JSON.stringify(values))), JSON.parse),
    prompt: async (prompt, values) => {
      const pairs = Object.entries(values).map(([key, value]) => `${key}=${value}`);
      const options = pairs.length === 0 ? [] : ["--prompt-args", ...pairs];
      return (await answered(await mcpdo("prompts/get", prompt, ...options))).messages;
    },
    completeArgument: async (prompt, argument, value) => {
      const reference = ["--complete-ref-type", "ref/prompt", "--complete-ref", prompt];
      const options = ["--complete-arg-name", argument, "--complete-arg-value", value];
      return (await mcpdo("prompts/complete", ...reference, ...options)).values;
    },
    without: { sampling: "it has no model", roots: "it has none", "progress, cancellation and list_changed": "it prints results only" },
    close: () => run("mcpdo", ["disconnect", name]),
  };
};

/** A tool that failed ends the program with an error, after its result was printed. */
async function evenIfFailed(call, read) {
  try {
    return await call();
  } catch (error) {
    if (!/returned isError:true/.test(error.stderr ?? "")) throw error;
    return read(error.stdout);
  }
}

// A process of this test alone, which is stopped at the end.
process.env.MCP_INSPECTOR_DAEMON_DIR = join(folder, "../daemon");
const authorization = ["--header", `Authorization: Bearer ${process.env.LARDER_TOKEN}`];
const http = ["--server-url", url, "--transport", "http", ...authorization];
const stdio = ["--", command, ...args];
for (const era of ["legacy", "modern", "auto"]) {
  await session(`inspector ${era}, http`, () => open(http, era), notFound);
  await session(`inspector ${era}, stdio`, () => open(stdio, era), notFound);
}
// Each program runs with each era and over each transport. All eight combinations would start too many processes.
await interactions("inspector legacy, stdio", folder, () => openTools(stdio, "legacy"));
await interactions("inspector modern, http", folder, () => openTools(http, "modern"));
await interactions("mcpdo legacy, http", folder, () => openConnection("http-legacy", http, "legacy"));
await interactions("mcpdo modern, stdio", folder, () => openConnection("stdio-modern", stdio, "modern"));
await run("mcpdo", ["daemon", "stop"]);
finish();
