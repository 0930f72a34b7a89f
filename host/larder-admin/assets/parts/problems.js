// Current problems with advice. They are built again only when they changed, because a link in them can have the focus.

import { h } from "../app/dom.js";
import { counted } from "../app/format.js";
import { link } from "../app/router.js";
import { data, short } from "../app/text.js";
import { arrange, createKeyedList } from "./keyed_list.js";
import { sentence } from "./sentence.js";
import { notice } from "./states.js";

/** How many problems are shown at once, and after a click. */
const FIRST = 4;
const MAX = 200;

/** Creates the part; `update` takes the problems of `/api/overview`. */
export function createProblems() {
  const title = h("h2", null);
  const list = createKeyedList({ label: "Problems", item: problem });
  const none = notice("ok", h("p", null, "No current problems."));
  const more = h("button", { type: "button", on: { click: toggle } });
  const element = h("div", { class: "problems", data: { problems: "" } });
  let isWhole = false;
  let all = [];

  function show() {
    title.textContent = counted(all.length, "current problem");
    list.update(all.slice(0, isWhole ? MAX : FIRST));
    more.textContent = isWhole ? "Show fewer problems" : `Show all ${counted(all.length, "problem")}`;
    const isLong = all.length > FIRST;
    arrange(element, all.length === 0 ? [none] : [title, list.element, ...(isLong ? [more] : [])]);
  }

  function toggle() {
    isWhole = !isWhole;
    show();
  }

  function update(problems = []) {
    all = problems;
    show();
  }
  return { element, update };
}

function problem({ severity, team, provider, text, advice }) {
  const where = provider
    ? h("a", { href: link(["providers", provider]) }, short(provider))
    : team && data(team);
  const kind = severity === "error" ? "error" : "warning";
  const head = h(
    "p",
    { class: "problem-head" },
    h("strong", null, kind === "error" ? "Error" : "Warning"),
    where && [" in ", where],
  );
  return notice(
    kind,
    head,
    h("p", null, sentence(text)),
    advice && h("p", { class: "advice" }, h("b", null, "Advice: "), sentence(advice)),
  );
}
