// Opens pages in Chromium, and records everything that a page must never do.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { onFailure } from "./checks.mjs";
import { TIMEOUT_MS } from "./eventually.mjs";
import { ADMIN_TOKEN, work } from "./server.mjs";

let browser;
/** A server of another origin. It counts requests; there must be none. */
export const elsewhere = { requests: [] };

export async function open() {
  browser = await chromium.launch({
    executablePath: process.env.BROWSER,
    // Where tests run as root, or in a container, Chromium cannot start its own sandbox.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  elsewhere.server = createServer((request, response) => {
    elsewhere.requests.push(`${request.method} ${request.url}`);
    response.end();
  });
  await new Promise((resolve) => elsewhere.server.listen(0, "127.0.0.1", resolve));
  elsewhere.origin = `http://127.0.0.1:${elsewhere.server.address().port}`;
  return browser.version();
}

/** Keeps what the open pages show, as pictures and in the log. */
onFailure(async (label) => {
  for (const [number, page] of browser.contexts().flatMap((context) => context.pages()).entries()) {
    const name = `failed-${label.replace(/\W+/g, "-")}-${number}.png`;
    await page.screenshot({ path: join(work, name), timeout: 10_000 });
    const text = await page.evaluate(() => document.body.innerText.slice(0, 3000));
    console.log(`--- ${name} shows ${page.url()}\n${text}\n---`);
  }
});

export async function close() {
  await browser?.close();
  elsewhere.server?.close();
}

/** A browser window with a storage of its own, and one page. */
export class Window {
  /** What the page did that it must never do. */
  violations = [];
  /** Messages in the console of the browser. */
  errors = [];

  /** Opens the page at an address of its own, and logs in if there is a token. */
  static async open(server, { token, address = "", ...options } = {}) {
    const window = new Window();
    window.server = server;
    // Without animations, no check sees a colour between two others.
    window.context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
    window.context.setDefaultTimeout(TIMEOUT_MS);
    await window.context.exposeBinding("reportViolation", (_source, text) => window.violations.push(text));
    await window.context.addInitScript(watchForViolations);
    window.page = await window.context.newPage();
    window.listen();
    await window.page.goto(`${server.admin}/${address}`);
    if (token) await window.logIn(token === true ? ADMIN_TOKEN : token);
    return window;
  }

  listen() {
    const { page, violations, errors } = this;
    page.on("dialog", async (dialog) => {
      violations.push(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    page.on("popup", (popup) => violations.push(`popup: ${popup.url()}`));
    page.on("download", (download) => violations.push(`download: ${download.url()}`));
    page.on("pageerror", (error) => errors.push(`uncaught: ${error.message}`));
    page.on("request", (request) => {
      const url = request.url();
      const isOwn = url.startsWith(`${this.server.admin}/`) || /^(data|blob):/.test(url);
      if (!isOwn) violations.push(`request to ${url.slice(0, 200)}`);
    });
    page.on("console", (message) => {
      if (message.type() !== "error") return;
      const text = message.text();
      if (/Content Security Policy|Refused to/i.test(text)) violations.push(`console: ${text.slice(0, 300)}`);
      // The browser reports each response with an error status by itself.
      else if (!text.startsWith("Failed to load resource")) errors.push(text.slice(0, 500));
    });
  }

  async logIn(token) {
    const { page } = this;
    await page.getByLabel("Token", { exact: true }).fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.locator('main:not([data-view="login"])').waitFor();
  }

  /** From now on, the requests of the page wait until the returned function is called. */
  async holdRequests() {
    let release;
    const released = new Promise((resolve) => { release = resolve; });
    await this.page.route("**/api/**", async (route) => {
      await released;
      await route.continue();
    });
    return release;
  }

  /** Checks that nothing happened that must not happen, and that the page has no error of its own. */
  async check() {
    const attacked = await this.page.evaluate(() => [window.attacked, {}.attacked, top.attacked]);
    assert.deepEqual(attacked.filter(Boolean), [], "a text of a provider ran as a script");
    assert.deepEqual(this.violations, []);
    assert.deepEqual(elsewhere.requests, [], "another origin received requests");
    assert.deepEqual(this.errors, [], "the page has errors");
  }

  async screenshot(name, options = {}) {
    mkdirSync(work, { recursive: true });
    await this.page.screenshot({ path: join(work, `${name}.png`), ...options });
  }

  async close() {
    await this.check();
    await this.context.close();
  }
}

/** Runs in each frame before its own scripts. */
function watchForViolations() {
  const report = (text) => window.reportViolation?.(text);
  document.addEventListener("securitypolicyviolation", (event) => {
    report(`${event.effectiveDirective} blocked ${event.blockedURI} ${event.sample}`.slice(0, 300));
  });
}
