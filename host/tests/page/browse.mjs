// What the views show of a server with two teams.
import assert from "node:assert/strict";
import { Window } from "./browser.mjs";
import { check } from "./checks.mjs";
import { eventually } from "./eventually.mjs";
import { goTo, heading, navigate, part, row, VIEWS, show, view } from "./views.mjs";

export async function run(server) {
  // Something to show: calls, a fault, a caller.
  for (const uri of ["echo://hello", "echo://say/word", "trap-reads://listed", "file:///documents/welcome.md"]) {
    await server.read(uri);
  }
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await check("views: the overview has numbers, graphs and problems with advice", () => overview(window));
  await check("views: the list of providers with filters", () => providers(page));
  await check("views: one provider", () => provider(page));
  await check("views: the faults of a provider with its stderr", () => faults(page));
  await check("views: tools and prompts", () => definitions(page));
  await check("views: teams with quotas and callers", () => teams(page));
  await check("views: an address without a view", async () => {
    await goTo(page, "#/nothing/here");
    await heading(page, "There is no such view").waitFor();
  });
  await check("views: screenshots of all views", async () => {
    for (const one of VIEWS) {
      await show(window, one);
      await window.screenshot(one[0], { fullPage: true });
    }
  });
  await check("views: nothing that is forbidden happened", () => window.close());
}

async function overview(window) {
  const { page, server } = window;
  await navigate(page, "Overview");
  const numbers = page.getByRole("list", { name: "Numbers" });
  const tile = (label) => numbers.getByRole("listitem").filter({ hasText: label });
  await tile("Teams").getByText("2", { exact: true }).waitFor();
  await tile("Server").getByText("Ready", { exact: true }).waitFor();
  await tile("Providers").getByText("1 rejected").waitFor();
  const now = await server.json("/api/overview");
  assert.ok(now.providers.rejected === 1 && now.memory.rss > 0, JSON.stringify(now));
  for (const graph of ["Calls", "Latency", "Memory", "Streams"]) {
    await page.getByRole("heading", { name: graph, exact: true }).first().waitFor();
  }
  const problem = page.getByRole("main").getByRole("listitem").filter({ hasText: "broken" });
  await problem.getByText("Advice:").first().waitFor();
  await eventually("the history has calls", async () => {
    const { series } = await server.json("/api/history");
    return series.calls.some((calls) => calls > 0) && series.memory.some((bytes) => bytes > 0);
  });
}

async function providers(page) {
  await navigate(page, "Providers");
  await row(page, "Providers", "docs/files").getByText("Ready").waitFor();
  await row(page, "Providers", "lab/broken").getByText("Rejected").waitFor();
  await page.getByLabel("Team").selectOption("lab");
  await row(page, "Providers", "docs/files").waitFor({ state: "detached" });
  await row(page, "Providers", "lab/schema").waitFor();
  await page.getByLabel("State").selectOption("rejected");
  await row(page, "Providers", "lab/schema").waitFor({ state: "detached" });
  await page.getByLabel("Team").selectOption("");
  await page.getByLabel("State").selectOption("");
  await row(page, "Providers", "docs/files").waitFor();
  await page.getByLabel("Search").fill("ech");
  await row(page, "Providers", "docs/files").waitFor({ state: "detached" });
  await row(page, "Providers", "lab/echo").waitFor();
  // The filter is a part of the address.
  await page.waitForURL(/#\/providers\?q=ech$/);
  await page.getByLabel("Search").fill("no provider has this name");
  await page.getByText("No provider matches").waitFor();
}

async function provider(page) {
  await page.getByLabel("Search").fill("echo");
  await page.getByRole("link", { name: "lab/echo" }).click();
  await heading(page, "lab/echo").waitFor();
  for (const name of ["Identity", "Circuit breaker", "Offers", "Limits", "Granted", "Requested", "Recent faults", "Log"]) {
    await part(page, name).waitFor();
  }
  await part(page, "Identity").getByText(/[0-9a-f]{64}/).waitFor();
  await part(page, "Identity").getByText("echo.wasm").waitFor();
  await part(page, "Circuit breaker").getByText("Closed", { exact: true }).waitFor();
  await part(page, "Calls by outcome").getByRole("row", { name: /^Ok/ }).waitFor();
  await part(page, "Revisions").getByRole("row").nth(1).waitFor();
  await part(page, "Recent faults").getByText("No faults").waitFor();
  const log = part(page, "Log");
  await log.getByText("read echo://hello").first().waitFor();
  await log.getByLabel("Filter the log").fill("no line has this text");
  await log.getByText("No line matches").waitFor();
  await page.getByRole("link", { name: "Providers", exact: true }).last().click();
  await view(page, "providers").waitFor();
}

async function faults(page) {
  await page.getByLabel("Search").fill("trap_reads");
  await page.getByRole("link", { name: "lab/trap_reads" }).click();
  const fault = part(page, "Recent faults").getByRole("article").first();
  await fault.getByText("trap-reads://listed").first().waitFor();
  await fault.getByText("stderr of the guest").first().click();
  await fault.getByRole("region", { name: "stderr of the guest" }).getByText("not today").waitFor();
}

async function definitions(page) {
  await navigate(page, "Catalog");
  const views = page.getByRole("navigation", { name: "Catalog" });
  // Both views have an article with this heading.
  const double = (list) =>
    page.getByRole("list", { name: list }).getByRole("article").filter({ has: page.getByRole("heading", { name: "double" }) });
  await views.getByRole("link", { name: "Tools" }).click();
  const tool = double("Tools");
  await tool.getByText("Doubles a number.").waitFor();
  await tool.getByText("Input", { exact: true }).click();
  await tool.getByText("minimum").first().waitFor();
  await views.getByRole("link", { name: "Prompts" }).click();
  await double("Prompts").waitFor();
}

async function teams(page) {
  await navigate(page, "Teams");
  await heading(page, "Teams").waitFor();
  for (const team of ["docs", "lab"]) await page.getByRole("main").getByText(team, { exact: true }).first().waitFor();
  for (const team of ["docs", "lab"]) await row(page, `Callers of ${team}`, "ann").waitFor();
  await page.getByRole("main").getByText(/memory/i).first().waitFor();
}
