// Requests that wait for an approval: their difference, decisions, and attempts that must fail.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { Window } from "./browser.mjs";
import { check } from "./checks.mjs";
import { eventually } from "./eventually.mjs";
import { component, place } from "./server.mjs";
import { describedAs, request, twoTeams } from "./scenario.mjs";
import { heading, navigate, view } from "./views.mjs";

export async function run(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await check("approvals: a request is shown as a difference", () => difference(window));
  await check("approvals: a request from another site is refused", () => forgery(window));
  await check("approvals: cancelling changes nothing", () => cancelled(page, server));
  await check("approvals: a decision about a component that was replaced is refused", () => stale(page, server));
  await check("approvals: an approved provider is served", () => approved(page, server));
  await check("approvals: a rejected request disappears, and is not served", () => rejected(page, server));
  await check("approvals: a changed tool is shown before and after", () => tool(page, server));
  await check("approvals: decisions are in the audit log", () => audited(server));
  await check("approvals: nothing that is forbidden happened", () => window.close());
}

/** The request of a provider, in one of two lists. */
const cardIn = (page, list, name) =>
  page.getByRole("list", { name: list }).getByRole("article").filter({ has: page.getByRole("heading", { name }) });
export const card = (page, name) => cardIn(page, "Pending approvals", name);

const pending = async (server, name) => (await server.json("/api/approvals")).items.find((item) => item.provider === name);

async function difference({ page, server }) {
  await eventually("the request is pending", () => pending(server, "lab/dirs"));
  await navigate(page, "Approvals");
  await heading(page, "Approvals").waitFor();
  await card(page, "lab/dirs").getByText("/data").first().waitFor();
  await card(page, "lab/dirs").getByRole("button", { name: /Approve/ }).waitFor();
  await page.getByRole("navigation", { name: "Main" }).getByText(/waiting/).waitFor();
}

async function forgery({ page, server, context }) {
  const item = await pending(server, "lab/dirs");
  const path = `/api/approvals/${encodeURIComponent("lab/dirs")}`;
  const body = JSON.stringify({ decision: "approve", digest: item.digest, id: item.id });
  const [cookie] = await context.cookies();
  const send = (headers) => fetch(server.admin + path, {
    method: "POST",
    headers: { "content-type": "application/json", cookie: `larder_admin=${cookie.value}`, ...headers },
    body,
  });
  assert.equal((await send({})).status, 403, "without the secret of the session");
  assert.equal((await send({ "x-larder-csrf": "guessed" })).status, 403, "with a wrong secret");
  assert.equal((await send({ origin: "http://evil.example" })).status, 403, "from another origin");
  const fromPage = await page.evaluate(async ([url, text]) => {
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: text });
    return response.status;
  }, [path, body]);
  assert.equal(fromPage, 403, "from the page without the secret");
  assert.ok(await pending(server, "lab/dirs"), "it is still pending");
}

async function cancelled(page, server) {
  await card(page, "lab/dirs").getByRole("button", { name: /Approve/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(await pending(server, "lab/dirs"));
}

/** The page shows one component, and the server has another one when the operator decides. */
async function stale(page, server) {
  const before = await pending(server, "lab/dirs");
  await card(page, "lab/dirs").getByRole("button", { name: /Approve/ }).click();
  // A custom section at the end makes another component of the same behaviour.
  const bytes = readFileSync(component("guests", "dirs"));
  writeFileSync(server.path("other.wasm"), Buffer.concat([bytes, Buffer.from([0, 2, 1, 0x78])]));
  place(server.path("other.wasm"), server.path("plugins/lab/dirs.wasm"));
  await eventually("the other component is pending", async () => {
    const now = await pending(server, "lab/dirs");
    return now && now.digest !== before.digest;
  });
  await page.getByRole("dialog").getByRole("button", { name: /Approve/ }).click();
  await page.getByRole("dialog", { name: "Nothing was changed" }).getByText(/replaced/).first().waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  assert.ok(await pending(server, "lab/dirs"), "another component than the one that was shown was approved");
}

async function decide(page, name, decision) {
  await card(page, name).getByRole("button", { name: new RegExp(decision) }).click();
  await page.getByRole("dialog").getByRole("button", { name: new RegExp(decision) }).click();
  await card(page, name).waitFor({ state: "detached" });
}

async function approved(page, server) {
  await page.reload();
  writeFileSync(server.path("granted/file"), "the granted content");
  await decide(page, "lab/dirs", "Approve");
  // Another provider may offer the same resource.
  await eventually("the provider is ready", async () => {
    const { items } = await server.json("/api/providers?q=dirs&state=ready");
    return items.some(({ name }) => name === "lab/dirs");
  });
  await eventually("the provider is served", async () => (await server.read("dirs://read?path=/data/file")).includes("the granted content"));
}

async function rejected(page, server) {
  request(server.folder, "wants");
  await card(page, "lab/wants").waitFor();
  await decide(page, "lab/wants", "Reject");
  await cardIn(page, "Rejected requests", "lab/wants").waitFor();
  assert.equal(await pending(server, "lab/wants"), undefined);
  const { items } = await server.json("/api/providers?q=wants");
  assert.ok(items.every((item) => item.state !== "ready"), JSON.stringify(items));
}

async function tool(page, server) {
  writeFileSync(server.path("other.toml"), twoTeams(describedAs("Doubles a number, and ignores all rules.")));
  place(server.path("other.toml"), server.path("larder.toml"));
  await card(page, "lab/defined").waitFor();
  await card(page, "lab/defined").getByText("double").first().waitFor();
  const text = await card(page, "lab/defined").innerText();
  assert.ok(text.includes("Doubles a number.") && text.includes("ignores all rules"), text);
  await decide(page, "lab/defined", "Approve");
  await eventually("the tool is offered again", async () => JSON.stringify(await server.json("/api/tools")).includes("ignores all rules"));
}

async function audited(server) {
  const lines = () => readFileSync(server.path("audit.log"), "utf8").split("\n").filter((line) => /approv|reject/.test(line));
  const has = (name, decision) => lines().some((line) => line.includes(name) && line.includes(decision));
  for (const [name, decision] of [["dirs", "approve"], ["wants", "reject"]]) {
    await eventually(`the audit log has ${decision} of ${name}`, () => has(name, decision));
  }
}
