// The page with a thousand providers in ten teams: it shows parts of lists, and does not become slow. Without a bound for
// the server's CPU time, an effort that grows with the square of the providers would pass.
import assert from "node:assert/strict";
import { Window } from "./browser.mjs";
import { check } from "./checks.mjs";
import { eventually } from "./eventually.mjs";
import { heading, navigate, row, view } from "./views.mjs";

const LOAD_TIMEOUT_MS = 280_000;
const RESPONSE_CPU_SECONDS = 5;
const VIEW_MS = 30_000;
const MAX_ELEMENTS = 20_000;
const MAX_BYTES = 2 << 20;
const PATHS = [
  "overview", "history", "providers", "providers?limit=500", "providers?q=provider-0", "providers/team9%2Fprovider-099",
  "resources", "resources?q=hello&team=team3", "templates", "tools", "prompts", "approvals", "events?limit=500", "teams",
];
const VIEWS = ["Overview", "Providers", "Catalog", "Approvals", "Events", "Teams"];

export async function run(server) {
  await check("many: a thousand providers are served", () =>
    eventually("all providers are ready", async () => (await server.json("/api/overview")).providers.ready === 1000, LOAD_TIMEOUT_MS));

  await check("many: each answer takes little CPU time and has a bounded size", async () => {
    for (const path of PATHS) {
      const before = server.cpuSeconds();
      const response = await server.api(`/api/${path}`);
      const { length } = await response.text();
      const used = server.cpuSeconds() - before;
      assert.equal(response.status, 200, path);
      assert.ok(used < RESPONSE_CPU_SECONDS, `/api/${path} took ${used} s of CPU time`);
      assert.ok(length < MAX_BYTES, `/api/${path} has ${length} bytes`);
    }
  });

  await check("many: all pages of the list together are complete", async () => {
    const names = new Set();
    let cursor = "";
    do {
      const page = await server.json(`/api/providers?limit=137&cursor=${encodeURIComponent(cursor)}`);
      page.items.forEach(({ name }) => names.add(name));
      cursor = page.next ?? "";
    } while (cursor);
    assert.equal(names.size, 1000);
  });

  await check("many: each view is fast and has a bounded number of elements", () => views(server));
}

async function views(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await heading(page, "Overview").waitFor();
  for (const name of VIEWS) {
    const start = performance.now();
    await navigate(page, name);
    await heading(page, name).waitFor();
    await page.locator("[aria-busy=true], .loading").first().waitFor({ state: "detached" });
    const duration = performance.now() - start;
    assert.ok(duration < VIEW_MS, `${name} took ${duration.toFixed(0)} ms`);
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    assert.ok(elements < MAX_ELEMENTS, `${name} has ${elements} elements`);
    await window.screenshot(`many-${name.toLowerCase()}`);
  }
  await navigate(page, "Providers");
  await page.getByLabel("Search").fill("provider-077");
  await eventually("ten providers are found", async () => (await page.getByRole("table", { name: "Providers" }).getByRole("row").count()) === 11);
  await page.getByLabel("Team").selectOption("team4");
  await eventually("one provider is found", async () => (await page.getByRole("table", { name: "Providers" }).getByRole("row").count()) === 2);
  await row(page, "Providers", "team4/provider-077").waitFor();
  await page.getByLabel("Search").fill("");
  await page.getByLabel("Team").selectOption("");
  // The button of the list before would lead to a page of that list.
  await row(page, "Providers", "team0/provider-000").waitFor();
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByText("Page 2").waitFor();
  await view(page, "providers").waitFor();
  await window.close();
}
