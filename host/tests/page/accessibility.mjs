// Accessibility of all views: axe-core in both modes, the keyboard, and narrow windows.
import assert from "node:assert/strict";
import { Window } from "./browser.mjs";
import { check, checkAccessibility, checkLayout, checkTabOrder } from "./checks.mjs";
import { heading, openDetails, openMenu, show, VIEWS, view } from "./views.mjs";

const SCHEMES = ["light", "dark"];
/** What 400 % zoom leaves of a window of 1280 x 1024 pixels. */
const NARROW = { width: 320, height: 256 };

export async function run(server) {
  for (const colorScheme of SCHEMES) {
    await check(`accessibility: axe-core finds no violation, ${colorScheme}`, async () => {
      const window = await Window.open(server, { token: true, colorScheme });
      for (const one of VIEWS) {
        await show(window, one);
        await openDetails(window.page);
        await checkAccessibility(window.page, `${one[0]}, ${colorScheme}`);
        await window.screenshot(`${one[0]}-${colorScheme}`, { fullPage: true });
      }
      const background = await backgroundOf(window.page);
      const [red] = background.match(/\d+/g).map(Number);
      assert.ok(colorScheme === "dark" ? red < 100 : red > 150, `the background is ${background} in ${colorScheme} mode`);
      await window.close();
    });
  }

  await check("accessibility: every action is reached with Tab, and the focus is visible", async () => {
    const window = await Window.open(server, { token: true });
    // Elements that come and go would be missed.
    await window.page.getByRole("button", { name: /pause live updates/ }).click();
    for (const one of VIEWS) {
      await show(window, one);
      await checkTabOrder(window.page, one[0]);
    }
    await window.close();
  });

  await check("accessibility: no view is wider than 320 pixels", async () => {
    const window = await Window.open(server, { token: true, viewport: NARROW });
    for (const one of VIEWS) {
      await show(window, one);
      await openDetails(window.page);
      await checkLayout(window.page, `${one[0]} at 320 pixels`);
      await window.screenshot(`${one[0]}-narrow`, { fullPage: true });
    }
    await openMenu(window.page);
    await checkLayout(window.page, "the menu at 320 pixels");
    await checkAccessibility(window.page, "the menu at 320 pixels");
    await window.close();
  });

  await check("accessibility: the theme can be chosen", async () => {
    const window = await Window.open(server, { token: true, colorScheme: "light" });
    const { page } = window;
    await view(page, "overview").waitFor();
    const button = page.getByRole("button", { name: /Theme/ });
    const background = () => backgroundOf(page);
    const light = await background();
    while (!(await button.innerText()).includes("dark")) await button.click();
    assert.notEqual(await background(), light);
    await page.reload();
    await heading(page, "Overview").waitFor();
    assert.notEqual(await background(), light, "the choice is lost");
    await window.close();
  });
}

const backgroundOf = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
