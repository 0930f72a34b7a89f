// Takes the picture of the overview for the README and the book, from a server that serves this repository:
//   cargo xtask test page && LARDER=target/debug/larder BROWSER=/usr/bin/chromium WORK=/tmp/picture \
//     COMPONENTS=target REPOSITORY=. node target/page/picture.mjs SECONDS PICTURE.png
// The graphs show the reads of the last SECONDS.
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { close, open, Window } from "./browser.mjs";
import { ADMIN_TOKEN, CLIENT_TOKEN, Server, component, digest, place, repository } from "./server.mjs";
import { heading } from "./views.mjs";

const [seconds = "60", file = "page.png"] = process.argv.slice(2);
const docs = JSON.stringify(resolve(repository, "docs"));
const git = resolve(repository, ".git");

const config = `
state_dir = "state"
[server]
resource_tools = true
[admin]
listen = "127.0.0.1:0"
token = "${digest(ADMIN_TOKEN)}"
[[auth.tokens]]
name = "ann"
digest = "${digest(CLIENT_TOKEN)}"
[provider.files]
dirs = [{ host = ${docs}, guest = "/docs" }]
[provider.notes]
dirs = [{ host = ${docs}, guest = "/book" }]
${existsSync(git) ? `[provider.git]\ndirs = [{ host = ${JSON.stringify(git)}, guest = "/larder" }]\n` : ""}
`;

const server = new Server("picture", config, (folder) => {
  for (const name of ["files", "notes", "git"]) place(component("plugins", name), join(folder, "plugins", `${name}.wasm`));
});

/** Reads like clients do: many reads, in waves, and a few that fail. */
async function traffic(end) {
  const { items } = await server.json("/api/resources?limit=500");
  for (let count = 0; Date.now() < end; count += 1) {
    await server.read(items[(count * 7) % items.length].uri);
    if (count % 40 === 39) await server.read("file:///docs/no-such-file.md");
    const wave = 1 + Math.sin(Date.now() / 40_000) + Math.sin(Date.now() / 9_000) / 3;
    await new Promise((done) => setTimeout(done, 10 + Math.random() * 60 * (2.4 - wave)));
  }
}

try {
  await open();
  await server.start();
  const end = Date.now() + Number(seconds) * 1000;
  await Promise.all([traffic(end), traffic(end), traffic(end)]);
  mkdirSync(resolve(file, ".."), { recursive: true });
  const window = await Window.open(server, { token: true, viewport: { width: 1280, height: 860 }, colorScheme: "light" });
  await heading(window.page, "Overview").waitFor();
  await window.page.locator("[aria-busy=true], .loading").first().waitFor({ state: "detached" });
  await window.page.screenshot({ path: resolve(file) });
  await window.close();
  await server.stop();
} finally {
  await close();
}
