// Changes that appear without loading the page again.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { Window } from "./browser.mjs";
import { check } from "./checks.mjs";
import { eventually } from "./eventually.mjs";
import { component, place } from "./server.mjs";
import { navigate, row, view } from "./views.mjs";

export async function run(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  // If the page were loaded again, this value would be gone.
  await view(page, "overview").waitFor();
  await page.evaluate(() => { window.isSamePage = true; });
  await check("live: a new component appears in the list of providers", () => added(page, server));
  await check("live: a fault appears in the events", () => fault(page, server));
  await check("live: events can be filtered", () => filtered(page, server));
  await check("live: a component that is removed disappears", () => removed(page, server));
  await check("live: updates can be paused", () => paused(page, server));
  await check("live: the page continues after the connection was lost", () => offline(window));
  await check("live: the page was never loaded again", async () => {
    assert.equal(await page.evaluate(() => window.isSamePage), true);
    // The connection was cut by the test.
    window.errors = window.errors.filter((text) => !/ERR_INTERNET_DISCONNECTED|overview/.test(text));
    await window.close();
  });
}

const file = (server) => server.path("plugins/lab/added.wasm");

async function added(page, server) {
  await navigate(page, "Providers");
  await page.getByLabel("Search").fill("added");
  await page.getByText("No provider matches").waitFor();
  place(component("guests", "keys"), file(server));
  await row(page, "Providers", "lab/added").getByText("Ready").waitFor();
}

/** The events that are shown. */
const events = (page) => page.getByRole("table", { name: "Events" });

/** The events of one kind about one provider. */
const eventsOf = (page, kind, provider) => events(page).getByRole("row").filter({ hasText: kind }).filter({ hasText: provider });

async function fault(page, server) {
  await navigate(page, "Events");
  await eventsOf(page, "Load", "lab/echo").first().waitFor();
  await eventsOf(page, "Load", "lab/added").first().waitFor();
  // Other checks made faults too.
  const faults = eventsOf(page, "Fault", "lab/trap_reads");
  const before = await faults.count();
  await server.read("trap-reads://appears-live");
  await faults.nth(before).waitFor();
}

async function filtered(page) {
  await page.getByLabel("Kind").selectOption("fault");
  await events(page).getByText("lab/added").first().waitFor({ state: "detached" });
  await events(page).getByText("lab/trap_reads").first().waitFor();
  await page.getByLabel("Kind").selectOption("");
  await events(page).getByText("lab/added").first().waitFor();
}

async function removed(page, server) {
  await navigate(page, "Providers");
  await page.getByLabel("Search").fill("added");
  await row(page, "Providers", "lab/added").waitFor();
  rmSync(file(server));
  await page.getByText("No provider matches").waitFor();
  await navigate(page, "Events");
  await eventsOf(page, "Removal", "lab/added").first().waitFor();
}

async function paused(page, server) {
  await navigate(page, "Events");
  const button = page.getByRole("button", { name: /pause live updates/ });
  await button.click();
  await page.getByRole("button", { name: /Paused/ }).waitFor();
  const later = component("guests", "same_content");
  place(later, server.path("plugins/lab/while-paused.wasm"));
  await server.read("echo://hello");
  await eventually("the server has the event", async () => (await server.json("/api/events?q=while-paused")).items.length > 0);
  assert.equal(await events(page).getByText("while-paused").count(), 0, "an event appears although updates are paused");
  await button.click();
  await events(page).getByText("while-paused").first().waitFor();
}

async function offline(window) {
  const { page, server } = window;
  await window.context.setOffline(true);
  // Playwright closes no connection that is open; a pause and its end open a new one.
  const button = page.getByRole("button", { name: /pause live updates/ });
  await button.click();
  await button.click();
  await page.getByRole("button", { name: /Reconnecting/ }).waitFor();
  await window.context.setOffline(false);
  rmSync(server.path("plugins/lab/while-paused.wasm"));
  await page.getByRole("button", { name: /Live/ }).waitFor();
  await eventsOf(page, "Removal", "lab/while-paused").first().waitFor();
}
