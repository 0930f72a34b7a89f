// Without a token, the page is for this machine only, and changes nothing.
import assert from "node:assert/strict";
import { request } from "node:http";
import { Window } from "./browser.mjs";
import { check } from "./checks.mjs";
import { eventually } from "./eventually.mjs";
import { navigate, view } from "./views.mjs";

export async function run(server) {
  const item = await eventually("a request is pending", async () => (await fetchJson(server, "/api/approvals")).items[0]);

  await check("loopback: the page is read-only", async () => {
    const window = await Window.open(server);
    const { page } = window;
    await view(page, "overview").waitFor();
    await page.getByText("Read-only on this machine").waitFor();
    await navigate(page, "Approvals");
    await page.getByText("/data").first().waitFor();
    const usable = page.getByRole("button", { name: /Approve|Reject/ }).and(page.locator(":enabled"));
    assert.equal(await usable.count(), 0, "a decision can be made");
    const status = await page.evaluate(async ([name, digest, id]) => {
      const response = await fetch(`/api/approvals/${encodeURIComponent(name)}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ decision: "approve", digest, id }),
      });
      return response.status;
    }, [item.provider, item.digest, item.id]);
    assert.equal(status, 403);
    await window.screenshot("approvals-read-only", { fullPage: true });
    await window.close();
  });

  await check("loopback: a program on this machine cannot approve", async () => {
    for (const headers of [{}, { authorization: "Bearer guessed" }, { "x-larder-csrf": "guessed" }, { cookie: "larder_admin=guessed" }]) {
      const response = await fetch(`${server.admin}/api/approvals/${encodeURIComponent(item.provider)}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ decision: "approve", digest: item.digest, id: item.id }),
      });
      assert.ok([401, 403].includes(response.status), `${response.status} with ${JSON.stringify(headers)}`);
    }
    assert.equal((await fetchJson(server, "/api/approvals")).items.length, 1);
  });

  await check("loopback: the page of another host name is refused", async () => {
    for (const host of ["evil.example", "evil.example:7879", "larder.internal"]) {
      assert.equal(await statusWithHost(server, host), 403, host);
    }
    assert.equal(await statusWithHost(server, "localhost"), 200);
  });
}

async function fetchJson(server, path) {
  return (await fetch(server.admin + path)).json();
}

/** `fetch` does not send another Host. */
function statusWithHost(server, host) {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.admin}/api/overview`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject);
    sent.end();
  });
}
