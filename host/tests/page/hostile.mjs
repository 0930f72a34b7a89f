// A provider whose every text attacks the page: names, titles, descriptions, URIs, contents, errors, log lines, tools,
// prompts, settings, completions and requests.
import assert from "node:assert/strict";
import { Window } from "./browser.mjs";
import { check, checkAccessibility, checkCharacters, checkLayout, checkNavigation } from "./checks.mjs";
import { eventually } from "./eventually.mjs";
import { goTo, heading, openDetails, view } from "./views.mjs";
import { read } from "./catalog.mjs";

const FAULTS = ["failed", "denied", "invalid", "unavailable", "trap", "huge"];
/** The contents that the guest `hostile_texts` has. */
const CONTENTS = [
  "markdown", "nested-markdown", "html", "svg", "svg-as-png", "png", "json", "deep-json", "invalid-json", "plain",
  "lines", "large", "bytes", "several",
];
const ADDRESSES = [
  "#/overview", "#/providers", "#/providers/texts", "#/providers/asks", "#/catalog/resources", "#/catalog/templates",
  "#/catalog/tools", "#/catalog/prompts", "#/catalog/read", "#/approvals", "#/events", "#/teams",
];
/** What the views show that do not say that they load. */
const SILENT = { "#/overview": "[data-tile]", "#/events": "main td" };
/** Addresses that somebody else may have written. */
const FOREIGN_ADDRESSES = [
  "#/providers/%3Cimg%20src=x%20onerror=window.attacked=1%3E",
  "#/providers/__proto__",
  "#/__proto__",
  "#/catalog/constructor",
  "#/providers?q=%3Cscript%3Ewindow.attacked=1%3C/script%3E&team=%22%3E%3Cimg%20src=x%3E&state=__proto__",
  "#/events?kind=%22%3E%3Cimg%20src=x%20onerror=window.attacked=1%3E&provider=%E2%80%AEx",
  "#javascript:window.attacked=1",
  "#/%ff%fe/%",
];

export async function run(server) {
  await check("hostile: every text of the provider arrived", () => prepare(server));
  for (const [what, viewport] of [["wide", { width: 1280, height: 900 }], ["narrow", { width: 320, height: 640 }]]) {
    await check(`hostile: all views, ${what}`, () => allViews(server, what, viewport));
  }
  await check("hostile: all contents", () => contents(server));
  await check("hostile: errors of reads", () => errors(server));
  await check("hostile: templates and completions", () => templates(server));
  await check("hostile: addresses that others wrote", () => addresses(server));
}

/** Makes faults, log lines and events, and checks that the attacks are in the answers of the API. */
async function prepare(server) {
  await eventually("the provider is served", async () => (await server.json("/api/resources")).items.length > 30);
  await eventually("a request waits", async () => (await server.json("/api/approvals")).items.length > 0);
  for (const how of FAULTS) await server.read(`hostile://fault/${how}`);
  await server.read("hostile://nothing/%3Cscript%3Ewindow.attacked=1%3C/script%3E");
  // A log line can arrive after the answer of the call that wrote it.
  const has = (path, text) =>
    eventually(`${path} has ${text}`, async () => JSON.stringify(await server.json(path)).includes(text));
  await has("/api/resources?limit=500", "<script>");
  await has("/api/resources?limit=500", "javascript:");
  await has("/api/tools?limit=500", "onerror");
  await has("/api/prompts?limit=500", "onclick");
  await has("/api/providers/texts", "<script>");
  // The newest lines alone can lack it: a slow provider writes only the first texts of each call, by its limit.
  await has("/api/providers/texts/log?q=approved&limit=500", "\u202e");
  await has("/api/approvals", "<img");
  await has("/api/overview", "window.attacked='host'");
}

async function allViews(server, what, viewport) {
  const window = await Window.open(server, { token: true, viewport });
  const { page } = window;
  await heading(page, "Overview").waitFor();
  for (const address of ADDRESSES) {
    await goTo(page, address);
    await settled(page);
    if (SILENT[address]) await page.locator(SILENT[address]).first().waitFor();
    await openEverything(page);
    await checkAll(window, `${address}, ${what}`);
    await window.screenshot(`hostile-${address.replace(/\W+/g, "-").slice(1)}-${what}`);
    if (what === "wide") await checkAccessibility(page, `${address} with hostile texts`);
  }
  await window.close();
}

/** The view has its heading and loads nothing. */
async function settled(page) {
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.locator("[aria-busy=true], .loading").first().waitFor({ state: "detached" });
}

/** Opens what is closed, and uses the buttons that show more. */
async function openEverything(page) {
  await openDetails(page);
  await page.evaluate(() => [...document.querySelectorAll("main button")].filter((button) => button.textContent.startsWith("Show more")).slice(0, 20).forEach((button) => button.click()));
}

async function checkAll(window, what) {
  const { page } = window;
  await checkElements(page, what);
  await checkLayout(page, what);
  if (page.viewportSize().width > 1000) await checkNavigation(page, what);
  await checkCharacters(page, what);
  await window.check();
}

/** The page has only its own elements: no text became markup. */
async function checkElements(page, what) {
  const foreign = await page.evaluate(() => {
    const all = [...document.querySelectorAll("*")];
    const isForeign = (element) =>
      ["IFRAME", "OBJECT", "EMBED", "STYLE", "BASE", "APPLET", "FRAME", "MARQUEE", "VIDEO", "AUDIO"].includes(element.tagName)
      || (["SCRIPT", "LINK", "META"].includes(element.tagName) && !document.head.contains(element))
      || (element.tagName === "A" && !element.getAttribute("href")?.startsWith("#"))
      || (element.tagName === "IMG" && !element.src.startsWith("blob:"))
      || [...element.attributes].some(({ name }) => /^on/i.test(name) || ["srcdoc", "formaction", "ping", "action"].includes(name));
    return { elements: all.filter(isForeign).map((element) => element.outerHTML.slice(0, 200)), scripts: document.scripts.length };
  });
  assert.deepEqual(foreign.elements, [], `${what}: a text became markup`);
  assert.equal(foreign.scripts, 2, `${what}: the page has other scripts than its own`);
}

async function contents(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await heading(page, "Overview").waitFor();
  for (const name of CONTENTS) {
    await read(page, `hostile://content/${name}`);
    await page.getByRole("region", { name: "About this read" }).or(page.locator("[data-failure]")).first().waitFor();
    await openEverything(page);
    // The other forms of the same content; one resource has 200 contents.
    for (const tab of (await page.getByRole("tab").all()).slice(0, 6)) {
      await tab.click();
      await openEverything(page);
      await checkAll(window, `the content ${name}`);
    }
    await checkAll(window, `the content ${name}`);
    await window.screenshot(`hostile-content-${name}`);
    await useTargets(page);
    await checkAll(window, `the content ${name} after clicks`);
  }
  await window.close();
}

/** Clicks on what looks like a link in a document: nothing must happen. */
async function useTargets(page) {
  const [before, after] = await page.evaluate(() => {
    const address = location.href;
    const targets = document.querySelectorAll("main .inert-link, main .inert-image, main .markdown p");
    [...targets].slice(0, 200).forEach((element) => element.click());
    return [address, location.href];
  });
  assert.equal(after, before, "a link of a document left the view");
}

async function errors(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await heading(page, "Overview").waitFor();
  for (const how of FAULTS) {
    await read(page, `hostile://fault/${how}`);
    await page.locator("[data-failure]").waitFor();
    await checkAll(window, `the error ${how}`);
  }
  for (const uri of ["javascript:window.attacked='read'", "data:text/html,<script>window.attacked=1</script>", "//evil.example/"]) {
    await read(page, uri);
    await page.locator("[data-failure]").or(page.getByRole("region", { name: "About this read" })).first().waitFor();
    await checkAll(window, uri);
  }
  await window.close();
}

async function templates(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await heading(page, "Overview").waitFor();
  await goTo(page, "#/catalog/templates");
  await settled(page);
  await openEverything(page);
  let suggested = 0;
  // Without the filters above the list: one of them disappears when the teams are loaded.
  for (const field of await page.locator("input[aria-autocomplete=list]").all()) {
    await field.focus();
    const options = page.getByRole("option").filter({ visible: true });
    await options.first().waitFor();
    suggested += await options.count();
    await checkAll(window, "the completions");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await checkAll(window, "a chosen completion");
  }
  assert.ok(suggested > 20, `${suggested} completions were suggested`);
  await window.close();
}

async function addresses(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await heading(page, "Overview").waitFor();
  for (const address of FOREIGN_ADDRESSES) {
    await page.goto(`${server.admin}/${address}`);
    await page.reload();
    await settled(page);
    await checkAll(window, address);
  }
  // A link fills in the form, and reads nothing: reading has effects on counters, and is audited as the operator.
  await page.goto(`${server.admin}/#/catalog/read?uri=hostile%3A%2F%2Fcontent%2Fhtml`);
  await page.reload();
  await view(page, "read").waitFor();
  await settled(page);
  assert.equal(await page.getByLabel("URI").inputValue(), "hostile://content/html");
  assert.equal(await page.getByRole("region", { name: "About this read" }).count(), 0, "a link read a resource");
  await window.close();
}
