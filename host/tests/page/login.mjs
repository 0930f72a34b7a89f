// Logging in and out.
import assert from "node:assert/strict";
import { Window } from "./browser.mjs";
import { check, checkAccessibility, checkLayout } from "./checks.mjs";
import { eventually } from "./eventually.mjs";
import { ADMIN_TOKEN } from "./server.mjs";
import { heading, navigate, row, view } from "./views.mjs";

const tokenField = (page) => page.getByLabel("Token", { exact: true });
const logInButton = (page) => page.getByRole("button", { name: "Log in" });

/** The cookie of a session. */
const cookie = async (window) => (await window.context.cookies()).find(({ name }) => name === "larder_admin");

export async function run(server) {
  await check("login: nothing is shown without a token", async () => {
    const window = await Window.open(server);
    await view(window.page, "login").waitFor();
    await checkAccessibility(window.page, "the login");
    await checkLayout(window.page, "the login");
    await window.screenshot("login");
    for (const path of ["session", "overview", "providers", "events", "teams", "approvals", "history"]) {
      const response = await fetch(`${server.admin}/api/${path}`);
      assert.equal(response.status, 401, `/api/${path} without a token`);
    }
    await window.close();
  });

  await check("login: a wrong token is refused with a message", async () => {
    const window = await Window.open(server);
    await tokenField(window.page).fill("not the token");
    await logInButton(window.page).click();
    await window.page.getByRole("main").getByText("The token was not accepted").waitFor();
    assert.equal(await cookie(window), undefined);
    await view(window.page, "login").waitFor();
    await window.close();
  });

  await check("login: the token opens the view that was wanted, and logging out ends the session", async () => {
    const window = await Window.open(server, { address: "#/events" });
    const { page } = window;
    await tokenField(page).fill(ADMIN_TOKEN);
    await page.keyboard.press("Enter");
    await view(page, "events").waitFor();
    await checkCookie(window);
    await page.reload();
    await heading(page, "Events").waitFor();
    const before = await cookie(window);
    await page.getByRole("button", { name: "Log out" }).click();
    await view(page, "login").waitFor();
    // Another request can find that the session ended before the answer to the logout arrives.
    await eventually("the cookie is removed", async () => (await cookie(window)) === undefined);
    // The value of the cookie is useless from now on.
    const response = await fetch(`${server.admin}/api/overview`, { headers: { cookie: `larder_admin=${before.value}` } });
    assert.equal(response.status, 401, "a session that was ended is still accepted");
    await window.close();
  });

  await check("login: a session that ended leads to the login, and back", async () => {
    const window = await Window.open(server, { token: true });
    const { page } = window;
    await navigate(page, "Teams");
    // Otherwise, a refresh of this view could lead to the login before the link is followed.
    const sendRequests = await window.holdRequests();
    await window.context.clearCookies();
    await navigate(page, "Providers");
    sendRequests();
    await view(page, "login").waitFor();
    await window.logIn(ADMIN_TOKEN);
    await view(page, "providers").waitFor();
    await row(page, "Providers", "docs/files").waitFor();
    await window.close();
  });

  await check("login: the token is kept nowhere in the browser", async () => {
    const window = await Window.open(server, { token: true });
    await view(window.page, "overview").waitFor();
    const stored = await window.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.cookie]));
    assert.ok(!stored.includes(ADMIN_TOKEN) && !stored.includes("larder_admin"), stored);
    const { value } = await cookie(window);
    assert.ok(!value.includes(ADMIN_TOKEN), "the cookie contains the token");
    await window.close();
  });

  await check("login: responses forbid scripts, frames and requests to other origins", async () => {
    const response = await fetch(server.admin);
    const policy = response.headers.get("content-security-policy") ?? "";
    const directives = Object.fromEntries(policy.split(";").map((one) => one.trim().split(/\s+(.*)/s)));
    assert.match(directives["default-src"] ?? "", /^'(none|self)'$/, policy);
    assert.equal(directives["frame-ancestors"], "'none'", policy);
    assert.equal(directives["base-uri"], "'none'", policy);
    assert.equal(directives["form-action"], "'none'", policy);
    assert.ok(!/unsafe|\*|https?:/.test(policy), policy);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    assert.match(response.headers.get("referrer-policy") ?? "", /no-referrer|same-origin/);
  });
}

async function checkCookie(window) {
  const found = await eventually("the cookie is set", () => cookie(window));
  assert.equal(found.httpOnly, true, "scripts can read the cookie");
  assert.equal(found.sameSite, "Strict");
  const hours = (found.expires * 1000 - Date.now()) / 3_600_000;
  assert.ok(hours > 0 && hours <= 24 * 7, `the cookie expires in ${hours} hours`);
}
