// The servers of the test: their configurations, components and documents.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ADMIN_TOKEN, CLIENT_TOKEN, Server, component, digest, link, place, repository } from "./server.mjs";

/** A string in TOML. A dollar sign would begin a variable. */
const quote = (text) => JSON.stringify(text).replaceAll("$", "$$$$");

const admin = (token) => `
[admin]
listen = "127.0.0.1:0"
${token ? `token = "${digest(ADMIN_TOKEN)}"` : ""}
`;

const client = (teams) => `
[[auth.tokens]]
name = "ann"
digest = "${digest(CLIENT_TOKEN)}"
${teams ? `teams = ${JSON.stringify(teams)}` : ""}
`;

/** The definition of the tool that waits for an approval in the test. */
export const describedAs = (text) => `
[team.lab.provider.defined]
tools = ["double"]
prompts = true
settings = { description = ${quote(text)} }
`;

/** Two teams: `docs` with documents, and `lab` with guests of the integration tests. */
export const twoTeams = (lab = describedAs("Doubles a number.")) => `
state_dir = "state"
${admin(true)}
${client(["docs", "lab"])}
[audit]
file = "audit.log"

[team.docs]
plugins = "plugins/docs"
ceiling = { dirs = [${quote(join(repository, "docs"))}, "documents"], tools = ["test_simple_text"], prompts = true }

[team.docs.provider.files]
dirs = [{ host = "documents", guest = "/documents" }]

[team.docs.provider.notes]
dirs = [{ host = ${quote(join(repository, "docs"))}, guest = "/book" }]

[team.lab]
plugins = "plugins/lab"
ceiling = { dirs = ["granted"], tools = ["double"], prompts = true }

[team.lab.provider.x]
settings = { answer = "42" }
${lab}`;

const DOCUMENTS = {
  "welcome.md": "# Welcome\n\nA *document* with a [link](https://example.com/) and a list:\n\n- one\n- two\n",
  "numbers.json": '{ "numbers": [1, 2, 3], "nested": { "yes": true } }\n',
  "plain.txt": "Plain text.\nSecond line.\n",
  "bytes.bin": Buffer.from(Array.from({ length: 512 }, (_, n) => n % 256)),
};

export function main() {
  return new Server("main", twoTeams(), (folder) => {
    mkdirSync(join(folder, "documents"));
    mkdirSync(join(folder, "granted"));
    for (const [name, content] of Object.entries(DOCUMENTS)) {
      writeFileSync(join(folder, "documents", name), content);
    }
    for (const name of ["files", "notes", "conformance"]) {
      place(component("plugins", name), join(folder, "plugins/docs", `${name}.wasm`));
    }
    for (const name of ["echo", "schema", "trap_reads", "defined"]) {
      place(component("guests", name), join(folder, "plugins/lab", `${name}.wasm`));
    }
    place(component("guests", "echo"), join(folder, "plugins/lab/x.wasm"));
    writeFileSync(join(folder, "plugins/lab/broken.wasm"), "this is no component");
    request(folder, "dirs");
  });
}

/** Adds a component of the team `lab` that requests a folder, and so waits for an approval. */
export function request(folder, name) {
  const dirs = `dirs = [{ host = ${quote(join(folder, "granted"))}, guest = "/data" }]\n`;
  writeFileSync(join(folder, "plugins/lab", `${name}.toml`), dirs);
  place(component("guests", "dirs"), join(folder, "plugins/lab", `${name}.wasm`));
}

/** A server without a token. */
export function loopback() {
  return new Server("loopback", `state_dir = "state"\n${admin(false)}\n[audit]\nfile = "audit.log"\n`, (folder) => {
    place(component("guests", "echo"), join(folder, "plugins/echo.wasm"));
    mkdirSync(join(folder, "granted"));
    const dirs = `dirs = [{ host = ${quote(join(folder, "granted"))}, guest = "/data" }]\n`;
    writeFileSync(join(folder, "plugins/dirs.toml"), dirs);
    place(component("guests", "dirs"), join(folder, "plugins/dirs.wasm"));
  });
}

/** A server whose provider attacks the page. */
export function hostile(origin) {
  const config = `
state_dir = "state"
${admin(true)}
${client()}
[provider.texts]
tools = true
prompts = true
settings = { origin = ${quote(origin)} }
# A request whose lines attack too.
[provider.asks]
settings = { origin = ${quote(origin)} }
`;
  return new Server("hostile", config, (folder) => {
    place(component("guests", "hostile_texts"), join(folder, "plugins/texts.wasm"));
    const granted = ["<img src=x onerror=window.attacked='folder'>", "\u202eelbatsurt"];
    for (const name of granted) mkdirSync(join(folder, "granted", name), { recursive: true });
    const dirs = granted.map((name, n) => `{ host = ${quote(join(folder, "granted", name))}, guest = "/${n}" }`);
    writeFileSync(join(folder, "plugins/asks.toml"), `dirs = [${dirs}]\n`);
    place(component("guests", "hostile_texts"), join(folder, "plugins/asks.wasm"));
    // It is rejected, with a message that contains the name of the host.
    writeFileSync(join(folder, "plugins/refused.toml"), `hosts = ["<script>window.attacked='host'</script>.example.com"]\n`);
    place(component("guests", "echo"), join(folder, "plugins/refused.wasm"));
    place(component("guests", "echo"), join(folder, "plugins/<img src=x onerror=window.attacked='file'>.wasm"));
  });
}

/** Ten teams with a hundred providers each. */
export function many(teams = 10, providers = 100) {
  const names = Array.from({ length: teams }, (_, n) => `team${n}`);
  const sections = names.map((name) => `[team.${name}]\nplugins = "plugins/${name}"\n`);
  const config = `state_dir = "state"\n${admin(true)}\n${client(names)}\n${sections.join("\n")}`;
  return new Server("many", config, (folder) => {
    for (const name of names) {
      for (let n = 0; n < providers; n += 1) {
        const file = `provider-${String(n).padStart(3, "0")}.wasm`;
        link(component("guests", "echo"), join(folder, "plugins", name, file));
      }
    }
  });
}
