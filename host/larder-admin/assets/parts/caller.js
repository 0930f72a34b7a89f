// As whom the operator reads: team, subject and claims of the caller. What was entered holds until the page is closed.

import { h, newId, replace } from "../app/dom.js";
import * as session from "../app/session.js";
import { plain } from "../app/text.js";
import { teamOptions } from "./choices.js";
import { fillOptions } from "./filters.js";

const ALL_TEAMS = ["", "All teams"];
/** What the operator entered, for all views. */
const entered = { team: "", subject: "", claims: "" };

/**
 * Creates the fields; `value()` returns the caller, or throws an error that says what is wrong.
 * @param {string|null} team The team of the resource that a link of this page names.
 */
export function createCaller(signal, team = null) {
  if (session.current()?.may_approve === false) return withoutChoice();
  const own = { ...entered, team: team ?? entered.team };
  const inputs = createInputs(own);
  const summary = h("span", { class: "hint" });
  const describe = () => replace(summary, plain(description(own)));
  fillOptions(inputs.team, [ALL_TEAMS], own.team);
  teamOptions(signal, ALL_TEAMS).then((options) => fillOptions(inputs.team, options));
  for (const [name, input] of Object.entries(inputs)) {
    input.addEventListener("input", () => {
      own[name] = entered[name] = input.value;
      describe();
    });
  }
  describe();
  const grid = h(
    "div",
    { class: "caller-fields" },
    field("Team", inputs.team),
    field("Subject", inputs.subject),
    field("Claims (JSON)", inputs.claims),
  );
  const hint = h("p", { class: "hint" }, "The audit log says that you read, on behalf of this caller.");
  return {
    element: h("details", { class: "card caller" }, h("summary", null, "Read as ", summary), grid, hint),
    value: () => value(own),
  };
}

/** A session without a login can only read as a client without a credential. */
function withoutChoice() {
  const text = h(
    "p",
    { class: "hint" },
    "You read as a caller without a credential. To choose another one, log in.",
  );
  return { element: text, value: () => ({}) };
}

function createInputs(own) {
  const common = { autocomplete: "off", spellcheck: "false" };
  return {
    team: h("select", null),
    subject: h("input", { type: "text", placeholder: "nobody", prop: { value: own.subject }, ...common }),
    claims: h("textarea", {
      rows: 3,
      placeholder: '{"iss": "https://id.example.com", "scope": "read"}',
      prop: { value: own.claims },
      ...common,
    }),
  };
}

function field(label, input) {
  input.id = newId("caller");
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input);
}

function description({ team, subject, claims }) {
  const who = subject.trim() === "" ? "a caller without a subject" : subject.trim();
  return `${who}, ${team === "" ? "all teams" : `team ${team}`}${claims.trim() === "" ? "" : ", with claims"}`;
}

function value({ team, subject, claims }) {
  const caller = {};
  if (team !== "") caller.team = team;
  if (subject.trim() !== "") caller.subject = subject.trim();
  if (claims.trim() !== "") caller.claims = parseClaims(claims);
  return caller;
}

function parseClaims(text) {
  const claims = parse(text);
  const isObject = claims !== null && typeof claims === "object" && !Array.isArray(claims);
  if (!isObject) throw new Error('The claims must be a JSON object, such as {"scope": "read"}.');
  return claims;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The claims are not JSON: ${error.message}`, { cause: error });
  }
}
