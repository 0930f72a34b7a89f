// Apps in Chromium, in a client that uses the official `AppBridge`: the table of `sqlite`, and a hostile app behind
// `remote`, which reaches only the origin that is granted.
// `node apps-browser.mjs LARDER SQLITE_COMPONENT REMOTE_COMPONENT FOLDER PAGE_PACKAGES BROWSER`

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { hostPage, hostileServer, listen, recorder, sandboxPage } from './apps-servers.mjs';

const TIMEOUT_MS = 60_000;
const [larder, sqlite, remote, folder, packages, executablePath] = process.argv.slice(2);
// The package that controls the browser, and the one that judges accessibility, are those of the test of the page.
const ofPage = createRequire(join(packages, 'package.json'));
const { chromium } = ofPage('playwright-core');
const axe = readFileSync(ofPage.resolve('axe-core/axe.min.js'), 'utf8');

const [granted, refused] = [await recorder(), await recorder()];
const hostile = await hostileServer([granted.origin, refused.origin]);
const endpoint = await freeAddress();
const server = await startLarder();
const sandbox = await sandboxPage();
const host = await hostPage({ '/larder': `http://${endpoint}/mcp`, '/hostile': `${hostile.origin}/mcp` });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
try {
  await showsRows();
  await hostileReachesOnlyWhatIsGranted();
} finally {
  await browser.close();
  server.kill();
  for (const one of [granted, refused, hostile, sandbox, host]) one.server.close();
  for (const one of [granted, refused, hostile, sandbox, host]) one.server.closeAllConnections();
}

async function showsRows() {
  const page = await openHost();
  const shown = await show(page, '/larder', 'query', { name: 'plants' }, { theme: 'dark' });
  assert.deepEqual(shown.csp ?? {}, {}, 'the table requests domains');
  const table = content(page).getByRole('table', { name: 'plants' });
  await becomes(() => table.getByRole('columnheader').allTextContents(), ['id', 'name', 'height']);
  const names = () => table.locator('tbody td:nth-child(2)').allTextContents();
  await becomes(names, ['Rose 10', 'Rose 9', '<b>Lily</b>', 'NULL']);

  const header = table.getByRole('columnheader', { name: 'name' });
  const sorted = () => header.getAttribute('aria-sort');
  await header.getByRole('button').focus();
  // Another process shows the frame. Keys reach it when the page knows that it has the focus.
  await page.waitForFunction(() => document.activeElement === window.frame);
  await page.keyboard.press('Enter');
  await becomes(sorted, 'ascending');
  await becomes(names, ['<b>Lily</b>', 'Rose 9', 'Rose 10', 'NULL']);
  await page.keyboard.press('Enter');
  await becomes(sorted, 'descending');
  await becomes(names, ['Rose 10', 'Rose 9', '<b>Lily</b>', 'NULL']);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await becomes(sorted, null);
  await becomes(names, ['<b>Lily</b>', 'Rose 9', 'Rose 10', 'NULL'], 'numbers are not compared as numbers');

  const background = () => content(page).locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
  await page.waitForFunction(() => parseInt(window.frame.style.height, 10) > 100);
  for (const [theme, color] of [['dark', 'rgb(27, 27, 31)'], ['light', 'rgb(255, 255, 255)']]) {
    await page.evaluate((theme) => window.bridge.sendHostContextChange({ theme }), theme);
    await content(page).locator(`html[style*="${theme}"]`).waitFor();
    await becomes(background, color);
    await checkAccessibility(page);
    await page.locator('iframe').screenshot({ path: join(folder, `table-${theme}.png`) });
  }
  await show(page, '/larder', 'query', { name: 'gone' }, {});
  await content(page).getByText('There is no saved query, table or view `gone`.').waitFor();
  await closeHost(page);
  console.log('did show, sort and check the table of sqlite, with the keyboard, in two themes');
}

async function hostileReachesOnlyWhatIsGranted() {
  const page = await openHost();
  await show(page, '/hostile', 'attack', {}, {});
  await content(page).getByText('done').waitFor();
  const ways = ['beacon', 'events', 'fetch', 'frame', 'image', 'media', 'script', 'style'];
  const received = ({ requests }) => [...new Set(requests)].sort();
  const all = ways.map((way) => `/${way}`);
  // The browser sends some requests after the page is done.
  for (const one of [granted, refused]) {
    await becomes(() => received(one), all, 'without Larder, the page cannot use each way, so the test shows nothing');
  }
  await page.evaluate(() => window.frame.remove());
  for (const { requests } of [granted, refused]) requests.splice(0);

  const shown = await show(page, '/larder', 'attack', {}, {});
  await content(page).getByText('done').waitFor();
  assert.deepEqual(shown.csp, { connectDomains: [granted.origin] });
  assert.deepEqual(shown.permissions ?? {}, {});
  await becomes(() => received(granted), ['/beacon', '/events', '/fetch'], 'the granted origin is not for other uses');
  assert.deepEqual(received(refused), [], 'the page reached an origin that is not granted');
  await page.close();
  console.log(`did reach the granted origin in 3 of ${ways.length} ways, and no other origin`);
}

/** Waits until a value is what is expected: what a page shows or sends follows an action a little later. */
async function becomes(value, expected, message) {
  for (const end = Date.now() + TIMEOUT_MS; ; await pause(50)) {
    const now = await value();
    if (isDeepStrictEqual(now, expected)) return;
    if (Date.now() > end) assert.deepEqual(now, expected, message);
  }
}

async function openHost() {
  const page = await browser.newPage({ viewport: { width: 640, height: 480 } });
  page.setDefaultTimeout(TIMEOUT_MS);
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('console', (message) => message.type() === 'error' && page.problems.push(message.text()));
  await page.goto(host.origin);
  await page.waitForFunction(() => window.showApp);
  return page;
}

async function closeHost(page) {
  assert.deepEqual(page.problems, []);
  await page.close();
}

function show(page, server, name, args, hostContext) {
  const call = { server, name, args, hostContext, sandbox: sandbox.origin };
  return page.evaluate((call) => window.showApp(call), call);
}

/** The page of the app, in the frame of the sandbox. */
function content(page) {
  return page.frameLocator('iframe').frameLocator('iframe');
}

async function checkAccessibility(page) {
  const frame = page.frames().find((frame) => frame.parentFrame()?.parentFrame() === page.mainFrame());
  await frame.evaluate(axe);
  const { violations } = await frame.evaluate(() => window.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa'] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), []);
}

async function startLarder() {
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['plugins', 'data']) mkdirSync(join(folder, name), { recursive: true });
  cpSync(sqlite, join(folder, 'plugins/sqlite.wasm'));
  cpSync(remote, join(folder, 'plugins/remote.wasm'));
  const database = new DatabaseSync(join(folder, 'data/garden.db'));
  database.exec(`CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT, height REAL);
    INSERT INTO plants VALUES (1, 'Rose 10', 20), (2, 'Rose 9', 3.5), (3, '<b>Lily</b>', 0.4), (4, NULL, NULL)`);
  database.close();
  writeFileSync(join(folder, 'larder.toml'), `state_dir = "state"\n[server]\nlisten = "${endpoint}"\n`
    + '[admin]\nlisten = "off"\n[provider.sqlite]\ntools = true\n'
    + 'dirs = [{ host = "data", guest = "/data" }]\n[provider.remote]\ntools = true\nkey_value = ["shared"]\n'
    + `hosts = [{ host = "${hostile.origin}", methods = ["POST", "DELETE"], private = true }]\n`
    + `settings = { url = "${hostile.origin}/mcp" }\napps = { connect_domains = ["${granted.origin}"] }\n`);
  const options = ['serve', '--config', join(folder, 'larder.toml')];
  const started = spawn(larder, options, { stdio: ['ignore', 'inherit', 'inherit'] });
  for (const end = Date.now() + TIMEOUT_MS; ; await pause(100)) {
    const answer = await fetch(`http://${endpoint}/mcp`).catch(() => undefined);
    if (answer) return started;
    assert.ok(Date.now() < end, 'larder does not answer');
  }
}

async function freeAddress() {
  const { server, origin } = await listen(() => {});
  server.close();
  return new URL(origin).host;
}
