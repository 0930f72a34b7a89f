// Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages.

import { defineProvider, Failed, http, NotFound, readText, setting } from "larder-provider";

const answers = {
  revision: () => "first",
  http: () => http.get(setting("granted")).accepted().text(),
  elsewhere: () => http.get(setting("elsewhere")).accepted().text(),
  long: () => readText("/folder/long.txt"),
  garbled() {
    throw new Failed("no caf\udce9");
  },
  raises() {
    throw new RangeError("no such luck");
  },
  eats: () => String(new Uint8Array(256 << 20).fill(1).length),
  spins() {
    for (;;);
  },
};

const provider = defineProvider({
  templates: () => [
    { uriTemplate: "trial://{what}", name: "the behaviour" },
    { uriTemplate: "trial:///{path}", name: "a path" },
  ],
  greedy: () => ["trial:///{path}"],
  read(request) {
    if (request.template === "trial:///{path}") return { body: request.var("path") };
    const what = request.var("what");
    if (!Object.hasOwn(answers, what)) throw new NotFound();
    return { body: answers[what]() };
  },
});

// Without the checks of the SDK, a value of the wrong type reaches the bindings, which trap.
const ends = { contents: [{ uri: { last: "words" }, body: { tag: "text", val: "" }, metadata: [] }] };
const { readResource } = provider.resourceProvider;
export const resourceProvider = {
  ...provider.resourceProvider,
  readResource: (request) => (request.uri === "trial://ends" ? ends : readResource(request)),
};
