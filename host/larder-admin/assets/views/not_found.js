// The view of an address that has none.

import { append, h } from "../app/dom.js";
import { link } from "../app/router.js";
import { pageHead } from "../parts/page_head.js";

export const notFound = {
  name: "not-found",
  title: "Not found",
  show({ root }) {
    append(
      root,
      pageHead("There is no such view"),
      h("p", null, h("a", { href: link(["overview"]) }, "Go to the overview")),
    );
  },
};
