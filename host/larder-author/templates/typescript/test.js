// Tests the component with `larder read`. `npm test` builds it first.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

const larder = process.env.LARDER ?? "larder";

// Returns the content of a URI, or null if it does not exist.
function read(plugins, uri) {
  const ran = spawnSync(larder, ["read", uri, "--plugins", plugins], { encoding: "utf8" });
  if (ran.error) throw ran.error;
  return ran.status === 0 ? ran.stdout : null;
}

test("returns greetings", () => {
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
