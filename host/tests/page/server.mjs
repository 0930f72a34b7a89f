// Starts `larder serve` with a configuration and a plugins folder, and makes requests to it.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync, createWriteStream, existsSync, linkSync, mkdirSync, readFileSync, renameSync, writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { eventually } from "./eventually.mjs";

const { LARDER, WORK, COMPONENTS, REPOSITORY } = process.env;
export const work = WORK;
export const repository = REPOSITORY;

/** The token of the admin address, and the one of a client of the endpoint. */
export const ADMIN_TOKEN = "the-admin-token-of-this-test-0123456789";
export const CLIENT_TOKEN = "the-client-token-of-this-test-0123456789";

// A debug build on a loaded machine compiles the components.
const START_TIMEOUT_MS = 240_000;
// In the files of /proc, on each usual Linux.
const TICKS_PER_SECOND = 100;

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

export const digest = (token) => `sha256:${createHash("sha256").update(token).digest("hex")}`;

/** The path of a built component: a provider that is shipped, or a guest of the integration tests. */
export const component = (kind, name) => join(COMPONENTS, kind, `${name}.wasm`);

/** Copies a component into a plugins folder, complete at once. */
export function place(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  const incomplete = `${to}.new`;
  copyFileSync(from, incomplete);
  renameSync(incomplete, to);
}

/** Serves one component under many names without copying it. */
export function link(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  linkSync(from, to);
}

export class Server {
  /** Writes `larder.toml` to a folder with this name. `prepare(folder)` adds the components. */
  constructor(name, config, prepare = () => {}) {
    this.folder = join(WORK, name);
    mkdirSync(join(this.folder, "plugins"), { recursive: true });
    writeFileSync(join(this.folder, "larder.toml"), config);
    prepare(this.folder);
  }

  path(name) {
    return join(this.folder, name);
  }

  /** Starts the server, and waits until it serves both addresses. */
  async start() {
    const args = ["serve", "--config", this.path("larder.toml"), "--listen", "127.0.0.1:0"];
    this.child = spawn(LARDER, args, { stdio: ["ignore", "ignore", "pipe"], cwd: this.folder });
    running.add(this.child);
    this.exited = new Promise((resolve) => this.child.once("exit", resolve));
    let log = "";
    const file = createWriteStream(this.path("larder.log"));
    this.child.stderr.on("data", (data) => {
      file.write(data);
      log = log.length < 1 << 20 ? log + data : log;
    });
    await eventually("the server prints its addresses", async () => {
      if (this.child.exitCode !== null) throw new Error(`larder ended: ${log}`);
      this.admin = log.match(/url=(http:\/\/127\.0\.0\.1:\d+)/)?.[1];
      this.mcp = log.match(/serves (http:\/\/127\.0\.0\.1:\d+\/mcp)/)?.[1];
      return this.admin && this.mcp;
    }, START_TIMEOUT_MS);
    return this;
  }

  /** Stops the server, which must end without an error. */
  async stop() {
    this.child.kill("SIGTERM");
    const code = await this.exited;
    running.delete(this.child);
    if (code !== 0) throw new Error(`larder ended with ${code} after SIGTERM; see ${this.path("larder.log")}`);
  }

  /** The CPU time that the server has used so far. 0 where the system does not report it. */
  cpuSeconds() {
    const file = `/proc/${this.child.pid}/stat`;
    if (!existsSync(file)) return 0;
    // The fields after the name of the program, which is in parentheses.
    const fields = readFileSync(file, "utf8").split(") ").at(-1).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }

  /** The response of the admin address, with the token. */
  api(path, options = {}) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, ...options.headers };
    return fetch(this.admin + path, { ...options, headers });
  }

  async json(path) {
    const response = await this.api(path);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Reads a resource as a client. Returns the response, which may be an error. */
  async read(uri) {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const response = await fetch(this.mcp, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${CLIENT_TOKEN}`,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "resources/read",
        "mcp-name": uri,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri, _meta: meta } }),
    });
    return response.text();
  }
}
