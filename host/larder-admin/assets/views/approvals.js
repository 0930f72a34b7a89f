// Pending requests as a difference from what was approved. To approve or to reject one is the only thing that this
// page changes.

import { alertAll, announce } from "../app/announce.js";
import { get, isAborted, post } from "../app/api.js";
import { append, h, replace } from "../app/dom.js";
import { counted, relative, time } from "../app/format.js";
import * as live from "../app/live.js";
import { link } from "../app/router.js";
import * as session from "../app/session.js";
import { data, plain, short } from "../app/text.js";
import { confirm } from "../parts/confirm.js";
import { compareLines, diffView } from "../parts/diff.js";
import { createKeyedList } from "../parts/keyed_list.js";
import { pageHead } from "../parts/page_head.js";
import { badge, empty, failure, loading, notice } from "../parts/states.js";

const CHANGES = new Set(["approval", "load", "reload", "removal", "rejection"]);

export const approvals = {
  name: "approvals",
  title: "Approvals",
  async show(context) {
    const load = () => loadInto(view, context.signal, load);
    const view = build(context.root, load);
    const reload = live.soon(load, context.signal);
    live.on("event", (event) => CHANGES.has(event.kind) && reload(), context.signal);
    live.repeat(load, 10_000, context.signal);
    await load();
  },
};

function build(root, load) {
  const item = (entry) => request(entry, load);
  const state = h("div", null, loading());
  const pending = createKeyedList({ class: "plain entries", label: "Pending approvals", item });
  const rejected = createKeyedList({ class: "plain entries", label: "Rejected requests", item });
  const heading = h("h2", null, "Rejected");
  const part = h(
    "section",
    { class: "stack", hidden: true, "aria-label": "Rejected" },
    heading,
    rejected.element,
  );
  const lead =
    "What providers request beyond what was approved. They are not served with it until you approve.";
  append(root, pageHead("Approvals", { lead }), readOnly(), state, pending.element, part);
  return { state, pending, rejected, part, round: 0 };
}

async function loadInto(view, signal, retry) {
  const { state, pending, rejected, part } = view;
  const round = (view.round += 1);
  try {
    const [items, before] = await Promise.all([all("pending", signal), all("rejected", signal)]);
    // A newer answer says what a decision changed.
    if (round !== view.round) return;
    pending.update(items);
    rejected.update(before);
    part.hidden = before.length === 0;
    replace(state, items.length === 0 ? nothing() : null);
  } catch (error) {
    if (!isAborted(error)) replace(state, failure(error, retry));
  }
}

function nothing() {
  const advice =
    "A component that requests more than was approved waits here, and so does a tool, skill or page that changed.";
  return empty("Nothing waits for an approval", advice);
}

async function all(state, signal) {
  const items = [];
  let cursor = "";
  do {
    const page = await get("approvals", { state, limit: 500, cursor }, signal);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor);
  return items;
}

function mayApprove() {
  return session.current()?.may_approve === true;
}

function readOnly() {
  if (mayApprove()) return null;
  return notice(
    "info",
    h(
      "p",
      null,
      "This session is read-only, because the server has no token for operators. Set ",
      h("code", null, "admin.token"),
      " and log in, or use ",
      h("code", null, "larder approve"),
      ".",
    ),
  );
}

function request(entry, reload) {
  const { provider, team, digest, requested_at: at, rejected, changes = [], tools = [] } = entry;
  const head = h(
    "div",
    { class: "entry-head" },
    h("h2", { class: "name" }, h("a", { href: link(["providers", provider]) }, short(provider))),
    team && h("span", { class: "hint" }, "team ", data(team)),
  );
  const facts = h(
    "p",
    { class: "hint" },
    "Component ",
    h("code", { class: "digest" }, data(digest)),
    at && [", requested ", time(at), ` (${relative(at)})`],
    rejected && [", rejected ", time(rejected.at), " by ", data(rejected.by)],
  );
  const grants = changes.length > 0 && [
    h("h3", null, "Grants"),
    diffView(changes, `Grants of ${plain(provider)}`),
  ];
  const toolParts = tools.length > 0 && [h("h3", null, "Tools, skills and pages"), tools.map(tool)];
  return h(
    "article",
    { class: "card entry", data: { approval: provider } },
    head,
    facts,
    grants,
    toolParts,
    mayApprove() && decisions(entry, reload),
  );
}

function tool({ name, change, before, after }) {
  const lines = compareLines(pretty(before), pretty(after));
  return h(
    "details",
    { open: lines.length < 60 },
    h("summary", null, short(name), " ", badge(change ?? "changed")),
    diffView(lines, `Definition of ${plain(name)}`),
  );
}

/** Writes a definition as lines: the name of each member, and below it its text or JSON. */
function pretty(definition) {
  if (definition === null || definition === undefined) return "";
  if (typeof definition !== "object") return String(definition);
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
  const members = Object.entries(definition).filter(([, value]) => value !== null);
  return members.map(([name, value]) => `${name}:\n${text(value)}`).join("\n");
}

function decisions(entry, reload) {
  const button = (decision, text, kind) =>
    h(
      "button",
      { type: "button", class: kind, on: { click: () => decide(entry, decision, reload) } },
      text,
      h("span", { class: "hidden" }, ` ${plain(entry.provider)}`),
    );
  return h(
    "div",
    { class: "actions" },
    button("approve", "Approve…", "primary"),
    !entry.rejected && button("reject", "Reject…", "danger"),
  );
}

async function decide(entry, decision, reload) {
  const name = plain(entry.provider, 80);
  const answer = await ask(entry, decision === "approve", name);
  if (!answer) return;
  try {
    const body = { decision, digest: entry.digest, id: entry.id, only_this_digest: answer.isOnce };
    await post(`approvals/${encodeURIComponent(entry.provider)}`, body);
    announce(`${decision === "approve" ? "Approved" : "Rejected"}: ${name}`);
  } catch (error) {
    await explain(error);
  }
  await reload();
  document.querySelector("h1")?.focus({ preventScroll: true });
}

/** Asks for a confirmation; returns null if the operator does not confirm. */
async function ask(entry, isApproval, name) {
  const once = h("input", { type: "checkbox" });
  const choice = "Only this component: the next version needs an approval again.";
  const body = [
    h("p", null, consequence(entry, isApproval)),
    h("p", { class: "hint" }, "Component ", h("code", { class: "digest" }, data(entry.digest))),
    isApproval && h("label", { class: "check" }, once, choice),
  ];
  const verb = isApproval ? "Approve" : "Reject";
  const kind = isApproval ? "primary" : "danger";
  const agreed = await confirm({ title: `${verb} the request of ${name}?`, body, yes: verb, kind });
  return agreed ? { isOnce: isApproval && once.checked } : null;
}

async function explain(error) {
  const changed = error.status === 409 ? "The request changed in the meantime. Look at the new one. " : "";
  const text = changed + plain(error.message, 500);
  alertAll(text);
  await confirm({ title: "Nothing was changed", body: h("p", null, text), yes: "Continue", no: null });
}

function consequence({ changes = [], tools = [] }, isApproval) {
  if (!isApproval) return "What is served now continues to be served, without what this component requests.";
  const added = changes.filter(({ kind }) => kind === "added").length;
  const parts = [
    added > 0 && counted(added, "grant"),
    tools.length > 0 && counted(tools.length, "definition"),
  ].filter(Boolean);
  return `The component is served with what it requests: ${parts.join(" and ") || "no further grants"}.`;
}
