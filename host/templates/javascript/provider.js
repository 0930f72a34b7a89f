// @NAME@: a provider of greetings. Put your own resources in their place.
//
// It runs in QuickJS: all of the language, and little beside it (no console, URL, TextDecoder, fetch).
// Numbers that the contract calls u64 are plain Numbers; a BigInt is refused.

import { setting } from "larder:provider/provider-host@0.1.0";

// The URIs are yours to choose; clients see them as they are written here.
const HELLO = "@NAME@://hello";
const HELLO_WHO = "@NAME@://hello/{who}";

export const resourceProvider = {
  describe() {
    // What people read in lists, and what a model is told about when to use this.
    return { title: "Greetings", summary: "Says hello.", claims: [] };
  },

  listResources(query) {
    // What there is, sorted by URI.
    return { entries: [{ uri: HELLO, name: "hello", mimeType: "text/plain" }] };
  },

  listTemplates(cursor) {
    // Families of resources that are too many to list.
    return { templates: [{ uriTemplate: HELLO_WHO, name: "a greeting", mimeType: "text/plain" }] };
  },

  matchUri(uri) {
    return undefined;
  },

  readResource(request) {
    let who;
    if (request.uri === HELLO) {
      who = "world";
    } else if (request.matched?.uriTemplate === HELLO_WHO) {
      // The values of the variables, decoded.
      who = Object.fromEntries(request.matched.variables).who;
    } else {
      // Errors are thrown, with what the contract calls them.
      throw { tag: "not-found" };
    }
    // Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
    const greeting = setting("greeting") ?? "Hello";
    const body = { tag: "text", val: `${greeting}, ${who}!\n` };
    return { contents: [{ mimeType: "text/plain", body, metadata: [] }] };
  },
};
