// Reads a resource as a caller that the operator chooses, and shows its contents with what is known about the read.

import { isAborted, post } from "../app/api.js";
import { announce } from "../app/announce.js";
import { append, h, newId, replace } from "../app/dom.js";
import { counted, relative, seconds, time } from "../app/format.js";
import { setQuery } from "../app/router.js";
import * as session from "../app/session.js";
import { data, plain } from "../app/text.js";
import { createCaller } from "../parts/caller.js";
import { facts } from "../parts/facts.js";
import { badge, empty, failure, loading, notice } from "../parts/states.js";
import { contentView } from "../content/viewer.js";
import { catalogHead } from "./catalog_nav.js";

/** How many contents one click shows. */
const CONTENTS = 20;
/** The URI that the operator selected on this page. A link from elsewhere fills in the form, but reads nothing. */
let intended = null;

/** Notes that the operator wants to read this URI. */
export function intend(uri) {
  intended = uri;
}

export const read = {
  name: "read",
  title: "Read",
  async show(context) {
    const { uri = "", team } = context.query;
    const caller = createCaller(context.signal, team);
    const form = createForm(uri);
    const result = h("div", { class: "stack", data: { result: "" } });
    const start = () => readInto(result, { uri: form.input.value.trim(), caller, form }, context.signal);
    form.element.addEventListener("submit", (event) => {
      event.preventDefault();
      setQuery({ uri: form.input.value.trim() });
      start();
    });
    append(
      context.root,
      catalogHead("read", "Read a resource by its URI."),
      form.element,
      caller.element,
      result,
    );
    if (uri) context.title(plain(uri, 80), "Read");
    const isIntended = uri !== "" && intended === uri;
    intended = null;
    if (isIntended && mayRead()) await start();
  },
};

function mayRead() {
  return session.current()?.may_read !== false;
}

function createForm(uri) {
  const id = newId("uri");
  const input = h("input", {
    id,
    type: "text",
    inputmode: "url",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    placeholder: "wiki://pages/start",
    prop: { value: uri },
  });
  const button = h("button", { type: "submit", class: "primary", disabled: !mayRead() }, "Read");
  const why = mayRead()
    ? null
    : notice("info", h("p", null, "This session may not read resources. Log in with the admin token."));
  const element = h(
    "form",
    { class: "read-form" },
    h("div", { class: "field wide" }, h("label", { for: id }, "URI"), input),
    button,
    why,
  );
  return { element, input, button };
}

async function readInto(result, { uri, caller, form }, signal) {
  replace(result, loading("Reading…"));
  form.button.disabled = true;
  try {
    const answer = await post("read", { uri, caller: caller.value() }, signal);
    replace(result, summary(answer));
    if (answer.contents.length === 0) append(result, empty("The resource has no contents"));
    appendContents(result, answer.contents, signal);
    announce(`Read ${counted(answer.contents.length, "content")} in ${seconds(answer.duration_seconds)}`);
  } catch (error) {
    if (!isAborted(error)) replace(result, failure(error));
  }
  form.button.disabled = false;
}

/** Appends some of the contents, and a button for the next ones. */
function appendContents(result, contents, signal) {
  append(
    result,
    contents.slice(0, CONTENTS).map((content) => contentView(content, signal)),
  );
  const rest = contents.slice(CONTENTS);
  if (rest.length === 0) return;
  const more = () => {
    button.remove();
    appendContents(result, rest, signal);
  };
  const text = `Show the next contents (${rest.length} left)`;
  const button = h("button", { type: "button", class: "more", on: { click: more } }, text);
  append(result, button);
}

/** Freshness, version, duration and cache state. */
function summary(answer) {
  const freshness = Number.isFinite(answer.ttl_seconds) ? `for ${seconds(answer.ttl_seconds)}` : null;
  const cache = {
    hit: "From the cache",
    miss: "Called the provider, now cached",
    none: "Called the provider, not cached",
  }[answer.cache];
  return h(
    "section",
    { class: "card", "aria-label": "About this read" },
    facts([
      ["Cache", h("span", null, badge(answer.cache ?? "none", answer.cache), " ", cache ?? "")],
      ["Duration", seconds(answer.duration_seconds)],
      ["Fresh", freshness],
      [
        "Expires",
        answer.expires ? h("span", null, time(answer.expires), ` (${relative(answer.expires)})`) : null,
      ],
      ["Version", answer.version ? data(answer.version) : null],
    ]),
  );
}
