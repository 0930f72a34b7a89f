// Searching and reading in the catalog, as a caller that the operator chooses.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Window } from "./browser.mjs";
import { check } from "./checks.mjs";
import { eventually } from "./eventually.mjs";
import { goTo, navigate, part, row, view } from "./views.mjs";

export async function run(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await check("catalog: a resource is found and read", () => found(page));
  await check("catalog: Markdown, JSON, text, bytes and pictures", () => kinds(page, window));
  await check("catalog: a template is filled in with completions", () => template(page));
  await check("catalog: a read as another caller, which the audit log says", () => asCaller(page, server));
  await check("catalog: errors of a read are shown", () => errors(page));
  await check("catalog: nothing that is forbidden happened", () => window.close());
}

/** Reads a URI with the form. */
export async function read(page, uri) {
  await goTo(page, "#/catalog/read");
  await view(page, "read").waitFor();
  await page.getByLabel("URI").fill(uri);
  await page.getByRole("button", { name: "Read", exact: true }).click();
}

async function found(page) {
  await navigate(page, "Catalog");
  const other = row(page, "Resources", "extra-001");
  await other.waitFor();
  await page.getByLabel("Search").fill("welcome");
  await other.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "welcome.md" }).click();
  await view(page, "read").waitFor();
  await part(page, "About this read").getByText("Duration").waitFor();
  await page.getByRole("main").getByText("Welcome").first().waitFor();
}

async function kinds(page, window) {
  await read(page, "file:///documents/welcome.md");
  await page.getByRole("main").getByRole("heading", { name: "Welcome", exact: true }).waitFor();
  // A link of a document is text, or leads to nothing outside of the page.
  assert.equal(await page.locator("main a[href^=http]").count(), 0);
  await window.screenshot("read-markdown", { fullPage: true });
  await read(page, "file:///documents/numbers.json");
  await page.getByRole("main").getByText("nested").first().waitFor();
  await window.screenshot("read-json", { fullPage: true });
  await read(page, "file:///documents/plain.txt");
  await page.getByRole("main").getByText("Second line.").waitFor();
  await read(page, "file:///documents/bytes.bin");
  await page.getByRole("main").getByText(/00\s*01\s*02\s*03/).first().waitFor();
  await window.screenshot("read-bytes", { fullPage: true });
  await read(page, "test://static-binary");
  const image = page.getByRole("main").getByRole("img").first();
  await image.waitFor();
  await eventually("the picture is shown", () => image.evaluate((element) => element.complete && element.naturalWidth > 0));
}

async function template(page) {
  await goTo(page, "#/catalog/templates?q=schema");
  const entry = page.getByRole("article").filter({ hasText: "schema://" });
  await entry.getByText("Fill in").click();
  const choose = async (variable, value) => {
    await entry.getByRole("combobox", { name: variable, exact: true }).focus();
    await entry.getByRole("option", { name: value, exact: true }).click();
  };
  await choose("catalog", "main");
  await choose("schema_name", "public");
  // What is suggested depends on the other variables.
  await entry.getByRole("combobox", { name: "table", exact: true }).focus();
  await entry.getByRole("option", { name: "orders" }).waitFor();
  assert.deepEqual(await entry.getByRole("option").allInnerTexts(), ["orders", "users"]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await entry.getByText("schema://main.public/orders").waitFor();
  await entry.getByRole("link", { name: "Read" }).click();
  await page.getByRole("main").getByText("main > public > orders").waitFor();
}

async function asCaller(page, server) {
  await goTo(page, "#/catalog/read");
  await page.getByText("Read as a caller").click();
  await page.getByLabel("Subject").fill("somebody-else");
  await page.getByLabel("URI").fill("echo://hello");
  await page.getByRole("button", { name: "Read", exact: true }).click();
  // The guest answers with the subject of its caller.
  await page.getByRole("main").getByText("caller: somebody-else of lab").waitFor();
  await eventually("the audit log has the read", () => {
    const lines = readFileSync(server.path("audit.log"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
    return lines.some((line) => {
      const text = JSON.stringify(line);
      return text.includes("echo://hello") && text.includes("somebody-else") && /operator|admin/.test(text);
    });
  });
  await page.getByLabel("Claims (JSON)").fill("{ not JSON");
  await page.getByRole("button", { name: "Read", exact: true }).click();
  await page.locator("[data-failure]").getByText("The claims are not JSON").waitFor();
  await page.getByLabel("Claims (JSON)").fill("");
  await page.getByLabel("Subject").fill("");
}

async function errors(page) {
  await read(page, "nothing://serves/this");
  await page.locator("[data-failure]").getByText(/no resource|not found/i).waitFor();
  await read(page, "trap-reads://listed");
  await page.locator("[data-failure]").getByText(/trap.reads/).waitFor();
  await read(page, "this is no URI");
  await page.locator("[data-failure]").waitFor();
}
