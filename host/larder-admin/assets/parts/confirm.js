// Asks before something is changed. The dialog of the browser keeps the focus inside and gives it back.

import { h, newId } from "../app/dom.js";

/**
 * Asks and returns whether the operator agreed.
 * @param {{title: string, body: any, yes: string, no?: string|null, kind?: string}} options
 */
export function confirm({ title, body, yes, no = "Cancel", kind = "primary" }) {
  const id = newId("dialog");
  const button = (text, answer, look) =>
    h("button", { type: "button", class: look, on: { click: () => dialog.close(answer) } }, text);
  const buttons = [no && button(no, "no", null), button(yes, "yes", kind)].filter(Boolean);
  // The focus begins at the heading: in a small window, a button at the end would scroll it out of sight.
  const heading = h("h2", { id, tabindex: "-1" }, title);
  const dialog = h(
    "dialog",
    { "aria-labelledby": id },
    heading,
    h("div", { class: "dialog-body" }, body),
    h("div", { class: "actions" }, buttons),
  );
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    dialog.showModal();
    heading.focus();
  });
}
