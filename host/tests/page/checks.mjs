// Runs checks one after the other and prints their results, and has the checks of a whole page: accessibility, layout
// and focus.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// More than the slowest check needs on a loaded machine.
const CHECK_TIMEOUT_MS = 300_000;

let failed = 0;
let explain = async () => {};

/** Sets what is called when a check failed, with the label of the check. */
export function onFailure(callback) {
  explain = callback;
}

/** Runs one check and prints its result. */
export async function check(label, body) {
  const start = Date.now();
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${CHECK_TIMEOUT_MS / 1000} s`)), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([body(), timeout]);
    console.log(`ok    ${label} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${label}: ${error?.stack ?? error}`);
    await explain(label).catch((reason) => console.log(`no screenshot: ${reason.message}`));
  } finally {
    clearTimeout(timer);
  }
}

export const failures = () => failed;

/** Fails if axe-core finds a violation. */
export async function checkAccessibility(page, what) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(AXE);
  const violations = await page.evaluate(async () => {
    const results = await window.axe.run(document, { resultTypes: ["violations"], preload: false });
    return results.violations.map(({ id, help, nodes }) => ({
      id,
      help,
      nodes: nodes.slice(0, 5).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`),
    }));
  });
  assert.deepEqual(violations, [], `axe-core finds violations in ${what}`);
}

/** Fails if the page is wider than the window, or if something covers the navigation. */
export async function checkLayout(page, what) {
  const problems = await page.evaluate(async () => {
    // A chart gets its width in the first frame that shows it.
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    const { scrollWidth, clientWidth } = document.documentElement;
    const found = scrollWidth > clientWidth ? [`the page is ${scrollWidth} px wide in a window of ${clientWidth} px`] : [];
    if (found.length > 0) {
      const wide = [...document.body.querySelectorAll("*")].filter((element) => {
        const isClipped = (parent) => parent && (getComputedStyle(parent).overflowX !== "visible" || isClipped(parent.parentElement));
        return element.getBoundingClientRect().right > clientWidth + 1 && !isClipped(element.parentElement);
      });
      found.push(...wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 200)));
    }
    return found;
  });
  assert.deepEqual(problems, [], `the layout of ${what}`);
}

/** Fails if a link of the navigation is not what a click on it would reach. */
export async function checkNavigation(page, what) {
  const covered = await page.evaluate(() => {
    window.scrollTo(0, 0);
    const links = [...document.querySelectorAll("nav a")].filter((link) => link.checkVisibility());
    const isReached = (link) => {
      const { x, y, width, height } = link.getBoundingClientRect();
      const reached = document.elementFromPoint(x + width / 2, y + height / 2);
      return reached && (link.contains(reached) || reached.contains(link) && reached !== document.documentElement && reached !== document.body);
    };
    return { count: links.length, covered: links.filter((link) => !isReached(link)).map((link) => link.textContent) };
  });
  assert.ok(covered.count >= 6, `${what}: the navigation has ${covered.count} links`);
  assert.deepEqual(covered.covered, [], `${what}: something covers links of the navigation`);
}

/** Characters that reverse or hide text. The page shows symbols instead. */
const DECEPTIVE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;

/** Fails if the text of the page, or an accessible name, contains a character that deceives. */
export async function checkCharacters(page, what) {
  const texts = await page.evaluate(() => {
    const attributes = [...document.querySelectorAll("*")].flatMap((element) =>
      ["title", "aria-label", "placeholder", "alt", "label"].map((name) => element.getAttribute(name) ?? ""));
    return [document.title, document.body.innerText, ...attributes];
  });
  for (const text of texts) {
    const at = text.search(DECEPTIVE);
    assert.equal(at, -1, `${what} shows a deceptive character: ${JSON.stringify(text.slice(Math.max(0, at - 40), at + 40))}`);
  }
}

/** What the focus is on, and whether a person sees that. */
const focused = (page) => page.evaluate(() => {
  let element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement) return null;
  const style = getComputedStyle(element);
  const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  const { width, height } = element.getBoundingClientRect();
  element.dataset.reached = "true";
  return {
    text: element.outerHTML.slice(0, 200),
    isVisible: (outline || style.boxShadow !== "none") && width > 0 && height > 0,
  };
});

/** Presses Tab until the focus leaves the page. Fails if the focus is trapped or invisible, or if something that can be
 *  used with the mouse was not reached. */
export async function checkTabOrder(page, what, limit = 600) {
  await page.evaluate(() => {
    document.querySelectorAll("[data-reached]").forEach((element) => delete element.dataset.reached);
    const first = document.querySelector("a[href]");
    first.focus();
    first.dataset.reached = "true";
  });
  const invisible = new Set();
  let count = 0;
  for (;;) {
    await page.keyboard.press("Tab");
    const element = await focused(page);
    if (!element) break;
    count += 1;
    if (!element.isVisible) invisible.add(element.text);
    assert.ok(count < limit, `${what}: the focus does not leave the page; it is on ${element.text}`);
  }
  const missed = await page.evaluate(() => {
    const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=button], [role=link]");
    const inside = (element) => element.closest("[inert], [hidden]");
    // The parts of one control with arrow keys have one stop.
    const shared = (element) => element.tabIndex < 0 && element.closest("[role=tablist], [role=radiogroup], [role=listbox], [role=menu], [role=toolbar], [role=grid], [role=tree]")
      || element.type === "radio";
    const isMissed = (element) => !element.dataset.reached && !element.disabled && element.checkVisibility({ visibilityProperty: true })
      && !inside(element) && !shared(element);
    return [...all].filter(isMissed).map((element) => element.outerHTML.slice(0, 120));
  });
  assert.deepEqual(missed.slice(0, 10), [], `${what}: not reached with Tab`);
  assert.deepEqual([...invisible], [], `${what}: the focus is invisible`);
  assert.ok(count > 5, `${what}: only ${count} elements were reached`);
}
