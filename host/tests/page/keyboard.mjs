// A whole session without a mouse: log in, search, read a resource, complete a template, and approve.
import assert from "node:assert/strict";
import { Window } from "./browser.mjs";
import { check } from "./checks.mjs";
import { card } from "./approvals.mjs";
import { eventually } from "./eventually.mjs";
import { request } from "./scenario.mjs";
import { ADMIN_TOKEN } from "./server.mjs";
import { heading, row, view } from "./views.mjs";

export async function run(server) {
  await check("keyboard: a whole session without a mouse", async () => {
    const window = await Window.open(server);
    const { page } = window;
    await view(page, "login").waitFor();
    await tabTo(page, "Token");
    await page.keyboard.type(ADMIN_TOKEN);
    await page.keyboard.press("Enter");
    await heading(page, "Overview").waitFor();
    await skip(page);
    await search(page);
    await complete(page);
    await approve(page, server);
    await window.close();
  });
}

/** Presses Tab until the element with this accessible name has the focus. */
async function tabTo(page, name, { backwards = false, limit = 200 } = {}) {
  const wanted = typeof name === "string" ? (text) => text === name : (text) => name.test(text);
  for (let count = 0; count < limit; count += 1) {
    await page.keyboard.press(backwards ? "Shift+Tab" : "Tab");
    const text = await page.evaluate(() => {
      const element = document.activeElement;
      const labels = [...(element.labels ?? [])].map((label) => label.innerText).join(" ");
      return (element.getAttribute("aria-label") ?? (labels || element.innerText) ?? "").trim().replace(/\s+/g, " ");
    });
    if (wanted(text)) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}

/** The first stop of a view skips the navigation. */
async function skip(page) {
  await page.reload();
  await heading(page, "Overview").waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
}

async function search(page) {
  await page.reload();
  await heading(page, "Overview").waitFor();
  await tabTo(page, "Catalog");
  await page.keyboard.press("Enter");
  await view(page, "resources").waitFor();
  // The heading of the new view has the focus, so the next stops are its own.
  await eventually("the heading has the focus", () => page.evaluate(() => document.activeElement.tagName === "H1"));
  const other = row(page, "Resources", "extra-001");
  await other.waitFor();
  await tabTo(page, "Search", { limit: 10 });
  await page.keyboard.type("welcome");
  await other.waitFor({ state: "detached" });
  await tabTo(page, "welcome.md");
  await page.keyboard.press("Enter");
  await view(page, "read").waitFor();
  await page.getByRole("main").getByRole("heading", { name: "Welcome", exact: true }).waitFor();
}

async function complete(page) {
  await tabTo(page, "Templates");
  await page.keyboard.press("Enter");
  await view(page, "templates").waitFor();
  await page.getByText("schema://").first().waitFor();
  await tabTo(page, /^Fill in schema:/);
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: "catalog", exact: true }).waitFor();
  await tabTo(page, "catalog", { limit: 3 });
  await page.getByRole("option", { name: "archive" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.value), "archive");
  await page.keyboard.press("ArrowDown");
  await page.getByRole("option", { name: "archive" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("option", { name: "archive" }).waitFor({ state: "hidden" });
}

async function approve(page, server) {
  request(server.folder, "by-keyboard");
  await tabTo(page, /^Approvals/, { backwards: true });
  await page.keyboard.press("Enter");
  await view(page, "approvals").waitFor();
  const own = card(page, "lab/by-keyboard");
  await own.waitFor();
  // Other requests may be there too.
  const button = own.getByRole("button", { name: /Approve/ });
  for (let count = 0; !(await button.evaluate((element) => element === document.activeElement)); count += 1) {
    assert.ok(count < 200, "Tab does not reach the button");
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  // Escape is the way out; the focus returns to the button.
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.ok(await button.evaluate((element) => element === document.activeElement), "the focus is lost after the dialog");
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  await tabTo(page, /^Approve/, { limit: 5 });
  await page.keyboard.press("Enter");
  await own.waitFor({ state: "detached" });
  // The focus is somewhere in the page, not lost.
  await eventually("something has the focus", () => page.evaluate(() => document.activeElement !== document.body));
}
