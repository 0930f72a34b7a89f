// @NAME@: an example provider that serves greetings. Replace them with your own resources.
//
// It runs in QuickJS, which has the whole language but few web APIs (no fetch and no timers).

import { defineProvider, NotFound, paginate, setting, type Description, type Request } from "larder-provider";

// Choose any URIs. Clients see them unchanged.
const HELLO = "@NAME@://hello";
const HELLO_WHO = "@NAME@://hello/{who}";

// Returns whom a request greets.
function greeted(request: Request): string {
  if (request.uri === HELLO) return "world";
  // The decoded value of the variable.
  if (request.template === HELLO_WHO) return request.var("who");
  // Throw the errors of the SDK. Anything else counts as a failure, and its stack is logged.
  throw new NotFound();
}

export const { resourceProvider } = defineProvider({
  // The declared type of the result also rejects misspelt properties.
  describe(): Description {
    // Shown to users in lists. The summary also tells a model when to use this provider.
    return { title: "Greetings", summary: "Says hello." };
  },

  list(query) {
    // The resources, sorted by URI.
    return paginate([{ uri: HELLO, name: "hello", mimeType: "text/plain" }], query);
  },

  templates() {
    // URI templates, for resources that are too many to list.
    return [{ uriTemplate: HELLO_WHO, name: "a greeting", mimeType: "text/plain" }];
  },

  read(request) {
    // Settings come from the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
    return { body: `${setting("greeting", "Hello")}, ${greeted(request)}!\n`, mimeType: "text/plain" };
  },
});
