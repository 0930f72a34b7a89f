// Tabs that show one of several forms of the same thing. Arrow keys move between them; a form is built when it is
// shown first.

import { attribute, h, newId, replace } from "../app/dom.js";

/**
 * Creates tabs.
 * @param {string} label The accessible name of the row of tabs.
 * @param {{label: string, render: () => any}[]} tabs The first one is shown.
 */
export function createTabs(label, tabs) {
  const panel = h("div", { role: "tabpanel", id: newId("panel"), class: "panel", tabindex: "0" });
  const buttons = tabs.map((tab) =>
    h("button", { type: "button", role: "tab", id: newId("tab"), "aria-controls": panel.id }, tab.label),
  );
  const row = h("div", { class: "tabs", role: "tablist", "aria-label": label }, buttons);
  const built = new Map();

  function select(index, focus) {
    buttons.forEach((button, at) => {
      attribute(button, "aria-selected", String(at === index));
      attribute(button, "tabindex", at === index ? "0" : "-1");
    });
    attribute(panel, "aria-labelledby", buttons[index].id);
    if (!built.has(index)) built.set(index, h("div", null, tabs[index].render()));
    replace(panel, built.get(index));
    if (focus) buttons[index].focus();
  }

  buttons.forEach((button, index) => button.addEventListener("click", () => select(index, false)));
  row.addEventListener("keydown", (event) => {
    const now = buttons.indexOf(document.activeElement);
    const last = buttons.length - 1;
    const next = {
      ArrowRight: now === last ? 0 : now + 1,
      ArrowLeft: now === 0 ? last : now - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    select(next, true);
  });
  select(0, false);
  return h("div", { class: "tabbed" }, row, panel);
}
