// Tests the functions of the provider in Node, and the component with `larder read`. `npm test` builds both first.
// `npm run test:native` tests only the functions, which takes less than a second and needs no `larder`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { resourceProvider } from "./build/native.js";

// Calls the exported function as a server does, which also finds the template and the values of its variables.
function call(uri, uriTemplate, values = {}) {
  const variables = Object.entries(values).map(([name, value]) => ({ name, value }));
  const matched = uriTemplate ? { uriTemplate, variables } : null;
  const [content] = resourceProvider.readResource({ uri, matched }).contents;
  return content.body.val;
}

test("the functions return greetings", () => {
  assert.equal(call("@NAME@://hello"), "Hello, world!\n");
  assert.equal(call("@NAME@://hello/Ada", "@NAME@://hello/{who}", { who: "Ada" }), "Hello, Ada!\n");
  assert.throws(() => call("@NAME@://nothing"), { tag: "not-found" });
});

const larder = process.env.LARDER ?? "larder";

// Returns the content of a URI, or null if it does not exist.
function read(plugins, uri) {
  const ran = spawnSync(larder, ["read", uri, "--plugins", plugins], { encoding: "utf8" });
  if (ran.error) throw ran.error;
  return ran.status === 0 ? ran.stdout : null;
}

test("the component returns greetings", () => {
  const plugins = mkdtempSync(join(tmpdir(), "plugins-"));
  try {
    copyFileSync("@NAME@.wasm", join(plugins, "@NAME@.wasm"));
    assert.equal(read(plugins, "@NAME@://hello"), "Hello, world!\n");
    assert.equal(read(plugins, "@NAME@://hello/Ada"), "Hello, Ada!\n");
    assert.equal(read(plugins, "@NAME@://nothing"), null);
  } finally {
    rmSync(plugins, { recursive: true });
  }
});
