// Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages.

import { defineProvider, Failed, http, keyValue, NotFound, readText, setting } from "larder-provider";

function stores(bucket) {
  bucket.set("a", "1");
  bucket.set("b", Uint8Array.of(50));
  const swapped = ["1", "2", undefined].map((expected) => bucket.compareAndSwap("b", expected, "3"));
  const found = [[...bucket.keys()].join(","), bucket.getText("b"), ...swapped];
  bucket.compareAndSwap("b", "3", undefined);
  bucket.delete("a");
  return [...found, [...bucket.keys()].length + (bucket.get("b")?.length ?? 0)].join(" ");
}

const answers = {
  revision: () => "first",
  http: () => http.get(setting("granted")).accepted().text(),
  elsewhere: () => http.get(setting("elsewhere")).accepted().text(),
  stores: () => stores(keyValue.shared),
  "stores-own": () => [...keyValue.caller.keys()].join(","),
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
