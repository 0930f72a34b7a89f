// The views of the page: how to reach each of them, and what to wait for.

/** The element of a view that is shown. */
export const view = (page, name) => page.locator(`main[data-view="${name}"]`);

export const heading = (page, name) => page.getByRole("heading", { level: 1, name });

/** A part of a view with a heading. */
export const part = (page, name) => page.getByRole("region", { name, exact: true });

/** The row of a table. */
export const row = (page, table, name) =>
  page.getByRole("table", { name: table, exact: true }).getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });

/** Which view a link of the navigation leads to, where it has another name than the link. */
const FIRST_VIEWS = { Catalog: "resources" };

/** Follows a link of the navigation, and waits until its view is shown: the view before can have fields of the same name. */
export async function navigate(page, name) {
  await openMenu(page);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name }).click();
  await view(page, FIRST_VIEWS[name] ?? name.toLowerCase()).waitFor();
}

/** Goes to an address of the page, and waits until the view before is gone: it can have the same name as the new one. */
export async function goTo(page, address) {
  await page.evaluate((hash) => new Promise((resolve) => {
    const before = location.hash;
    // The page listened first, so it has changed its view when this is called.
    addEventListener("hashchange", () => resolve(), { once: true });
    location.hash = hash;
    if (location.hash === before) resolve();
  }), address);
}

/** Opens what is closed, so that it is checked too. Some of it is built only then. */
export async function openDetails(page) {
  await page.evaluate(() => Promise.all([...document.querySelectorAll("main details:not([open])")].map((element) => new Promise((resolve) => {
    element.addEventListener("toggle", () => resolve(), { once: true });
    element.open = true;
  }))));
}

/** In a narrow window, the navigation is behind a button. */
export async function openMenu(page) {
  const menu = page.getByRole("button", { name: "Menu" });
  if ((await menu.isVisible()) && (await menu.getAttribute("aria-expanded")) === "false") await menu.click();
}

/** All views, as [name of the view, address, a locator of what it shows when it is complete]. */
export const VIEWS = [
  ["overview", "#/overview", (page) => page.getByRole("list", { name: "Numbers" }).getByText("Ready")],
  ["providers", "#/providers", (page) => page.getByRole("table", { name: "Providers" }).getByRole("row").nth(1)],
  ["provider", "#/providers/lab%2Fecho", (page) => part(page, "Log").getByRole("heading")],
  ["resources", "#/catalog/resources", (page) => page.getByRole("table", { name: "Resources" }).getByRole("row").nth(1)],
  ["templates", "#/catalog/templates", (page) => page.getByRole("list", { name: "Templates" }).getByRole("article").first()],
  ["tools", "#/catalog/tools", (page) => page.getByRole("list", { name: "Tools" }).getByRole("article").first()],
  ["prompts", "#/catalog/prompts", (page) => page.getByRole("list", { name: "Prompts" }).getByRole("article").first()],
  ["read", "#/catalog/read", (page) => page.getByRole("button", { name: "Read" })],
  ["approvals", "#/approvals", (page) => page.getByRole("button", { name: /Approve/ }).first()],
  ["events", "#/events", (page) => page.getByText("echo").first()],
  ["teams", "#/teams", (page) => page.getByRole("heading", { name: "Callers" }).first()],
];

/** Shows a view and waits until it is complete. */
export async function show(window, [name, address, complete]) {
  const { page } = window;
  await goTo(page, address);
  await view(page, name).waitFor();
  await complete(page).waitFor();
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
}
