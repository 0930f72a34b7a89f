// The login with the admin token or an access token of the issuer. The token is sent once and not kept by the page.

import { alertAll } from "../app/announce.js";
import { append, h, replace } from "../app/dom.js";
import { sign } from "../app/icons.js";
import * as session from "../app/session.js";
import { plain } from "../app/text.js";
import { notice } from "../parts/states.js";

export const login = {
  name: "login",
  title: "Log in",
  show(context) {
    const token = h("input", {
      id: "token",
      type: "password",
      autocomplete: "current-password",
      required: true,
      spellcheck: "false",
      autocapitalize: "off",
      "aria-describedby": "token-hint",
    });
    const trouble = h("div", null);
    const button = h("button", { type: "submit", class: "primary" }, "Log in");
    const hint = h("p", { class: "hint", id: "token-hint" }, accepted());
    const submit = async (event) => {
      event.preventDefault();
      replace(trouble);
      button.disabled = true;
      await tryLogin(token, trouble, context);
      button.disabled = false;
    };
    const form = h(
      "form",
      { class: "card login", on: { submit } },
      sign(),
      h("h1", null, "Log in to Larder"),
      h("div", { class: "field wide" }, h("label", { for: "token" }, "Token"), token, hint),
      trouble,
      button,
    );
    append(context.root, form);
    token.focus();
  },
};

function accepted() {
  const texts = {
    token: ["the token of ", h("code", null, "admin.token")],
    oauth: ["an access token of your issuer with the scope of operators"],
  };
  const known = session
    .loginKinds()
    .map((kind) => texts[kind])
    .filter(Boolean);
  return known.length === 0
    ? "The server accepts no tokens."
    : ["Enter ", known.map((parts, at) => [at > 0 && ", or ", parts]), "."];
}

async function tryLogin(token, trouble, context) {
  try {
    // It is completed even if the view is left: the cookie would be set, and the page would not know it.
    await session.logIn(token.value);
    token.value = "";
    context.loggedIn();
  } catch (error) {
    const text =
      error.status === 401 || error.status === 403
        ? `The token was not accepted: ${error.message}`
        : error.message;
    replace(trouble, notice("error", plain(text, 500)));
    alertAll(plain(text, 500));
    token.select();
    token.focus();
  }
}
