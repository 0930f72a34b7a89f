// Details whose content is built when they are opened first, whoever opens them.

import { h, replace } from "../app/dom.js";

/**
 * Creates details.
 * @param {any} summary What is always shown.
 * @param {() => any} content Returns the content.
 * @param {{isOpen?: boolean, class?: string}} options
 */
export function lazyDetails(summary, content, { isOpen = false, class: name = null } = {}) {
  const holder = h("div", { class: name });
  let isBuilt = false;
  const build = () => {
    if (!isBuilt) replace(holder, content());
    isBuilt = true;
  };
  // A click, also with a key, is reported before the details open; other ways to open them only afterwards.
  const head = h("summary", { on: { click: build } }, summary);
  const details = h("details", { on: { toggle: () => details.open && build() } }, head, holder);
  if (isOpen) {
    build();
    details.open = true;
  }
  return details;
}
