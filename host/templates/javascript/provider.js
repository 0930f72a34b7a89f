// @NAME@: a provider of greetings. Put your own resources in their place.
//
// It runs in QuickJS: all of the language, and little beside it (no console, URL, TextDecoder, fetch).

import { defineProvider, NotFound, paginate, setting } from "larder-provider";

// The URIs are yours to choose; clients see them as they are written here.
const HELLO = "@NAME@://hello";
const HELLO_WHO = "@NAME@://hello/{who}";

export const { resourceProvider } = defineProvider({
  describe() {
    // What people read in lists, and what a model is told about when to use this.
    return { title: "Greetings", summary: "Says hello." };
  },

  list(query) {
    // What there is, sorted by URI.
    return paginate([{ uri: HELLO, name: "hello", mimeType: "text/plain" }], query);
  },

  templates() {
    // Families of resources that are too many to list.
    return [{ uriTemplate: HELLO_WHO, name: "a greeting", mimeType: "text/plain" }];
  },

  read(request) {
    let who;
    if (request.uri === HELLO) {
      who = "world";
    } else if (request.template === HELLO_WHO) {
      // The value of the variable, decoded.
      who = request.var("who");
    } else {
      // Errors are thrown; anything else that is thrown is a failure, with its stack in the log.
      throw new NotFound();
    }
    // Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
    return { body: `${setting("greeting", "Hello")}, ${who}!\n`, mimeType: "text/plain" };
  },
});
