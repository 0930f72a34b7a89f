// Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in five languages.

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

export const { resourceProvider } = defineProvider({
  templates: () => [
    { uriTemplate: "trial://{what}", name: "the behaviour" },
    { uriTemplate: "trial:///{path}", name: "a path" },
  ],
  greedy: () => ["trial:///{path}"],
  read(request) {
    if (request.template === "trial:///{path}") return { body: request.var("path") };
    const what = request.var("what");
    // A value of the wrong type reaches the bindings, which trap.
    if (what === "ends") return { uri: { last: "words" }, body: "" };
    if (!Object.hasOwn(answers, what)) throw new NotFound();
    return { body: answers[what]() };
  },
});
