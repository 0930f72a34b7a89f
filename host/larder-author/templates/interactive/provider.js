// @NAME@: an example provider that serves greetings, with a tool, a prompt, a search and a setting. Replace them with your
// own.
//
// It runs in QuickJS, which has the whole language but few web APIs (no fetch and no timers).

import { defineProvider, matching, NotFound, paginate, setting } from "larder-provider/interactive";

// Choose any URIs. Clients see them unchanged.
const HELLO = "@NAME@://hello";
const HELLO_WHO = "@NAME@://hello/{who}";
const ENTRY = { uri: HELLO, name: "hello", mimeType: "text/plain" };

const greet = (who) => `${setting("greeting")}, ${who}!`;

export const {
  resourceProvider,
  completionProvider,
  versionProvider,
  toolProvider,
  promptProvider,
  searchProvider,
  settingsProvider,
} = defineProvider({
  settings: {
    // In the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
    greeting: { type: "text", description: "The first word of a greeting.", default: "Hello" },
  },

  describe() {
    // Shown to users in lists. The summary also tells a model when to use this provider.
    return { title: "Greetings", summary: "Says hello." };
  },

  list(query) {
    // The resources, sorted by URI.
    return paginate([ENTRY], query);
  },

  templates() {
    // URI templates, for resources that are too many to list.
    return [{ uriTemplate: HELLO_WHO, name: "a greeting", mimeType: "text/plain" }];
  },

  read(request) {
    let who;
    if (request.uri === HELLO) {
      who = "world";
    } else if (request.template === HELLO_WHO) {
      // The decoded value of the variable.
      who = request.var("who");
    } else {
      // Throw the errors of the SDK. Anything else counts as a failure, and its stack is logged.
      throw new NotFound();
    }
    return { body: `${greet(who)}\n`, mimeType: "text/plain" };
  },

  search(query) {
    // The best hits first. The host merges those of all providers.
    const text = greet("world");
    return text.toLowerCase().includes(query.text.toLowerCase()) ? [{ entry: ENTRY, excerpt: text }] : [];
  },

  // Functions that a model may call. `input` becomes the schema of the arguments, with which the host checks them.
  tools: {
    greet: {
      title: "Greet somebody",
      description: "Returns a greeting.",
      readOnly: true,
      idempotent: true,
      openWorld: false,
      input: { who: { type: "string", description: "Who is greeted." } },
      call: ({ who }) => greet(who),
    },
  },

  // Prompts, which a user selects.
  prompts: {
    welcome: {
      title: "Write a welcome",
      description: "Asks for a letter that welcomes somebody.",
      arguments: {
        who: {
          description: "Who is welcomed.",
          required: true,
          // Suggestions for the argument: those that begin with the text that was typed.
          complete: (prefix) => matching(["Ada", "Grace"], prefix),
        },
      },
      get: ({ who }) => `Write a short letter that welcomes ${who}. Begin with: ${greet(who)}`,
    },
  },
});
