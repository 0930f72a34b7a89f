// The test of the page for operators. `cargo xtask test page` runs it; with arguments, it runs only these modules.
// The environment names the server (LARDER), its components (COMPONENTS), the browser (BROWSER), a folder (WORK) and the
// repository (REPOSITORY).
import { close, elsewhere, open } from "./browser.mjs";
import { check, failures } from "./checks.mjs";
import * as scenario from "./scenario.mjs";

/** The modules in their order, with the server that each of them uses. */
const MODULES = [
  ["login", "main"],
  ["modules", "main"],
  ["browse", "main"],
  ["catalog", "main"],
  ["accessibility", "main"],
  ["loopback", "loopback"],
  ["hostile", "hostile"],
  ["keyboard", "main"],
  ["live", "main"],
  // Last, because it changes what is served.
  ["approvals", "main"],
  ["many", "many"],
];

const only = process.argv.slice(2);
const modules = MODULES.filter(([name]) => only.length === 0 || only.includes(name));
const servers = new Map();

try {
  console.log(`Chromium ${await open()}`);
  const create = { main: scenario.main, loopback: scenario.loopback, hostile: () => scenario.hostile(elsewhere.origin), many: scenario.many };
  for (const name of new Set(modules.map(([, server]) => server))) servers.set(name, create[name]());
  // All start at once; each waits for its turn to compile.
  const started = new Map([...servers].map(([name, server]) => [name, server.start()]));
  started.forEach((promise) => promise.catch(() => {}));
  for (const [name, server] of modules) {
    const { run } = await import(`./${name}.mjs`);
    await check(`${name}: the server starts`, () => started.get(server));
    await run(servers.get(server));
  }
  for (const [name, server] of servers) await check(`the server ${name} stops without an error`, () => server.stop());
} finally {
  await close();
}
console.log(failures() === 0 ? "all checks passed" : `${failures()} checks failed`);
process.exit(failures() === 0 ? 0 : 1);
