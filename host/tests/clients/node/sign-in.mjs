// The client of the official suite's authorization scenarios: signs in with `larder login`, lists the tools, and calls
// one. `node sign-in.mjs run LARDER URL`; the suite appends the URL. With `open URL`, it is the browser of the user.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// The identity of a client that hosts a client ID metadata document, as the suite expects it.
const METADATA_DOCUMENT = 'https://conformance-test.local/client-metadata.json';

const [command, ...parameters] = process.argv.slice(2);
if (command === 'open') {
  await fetch(parameters[0]);
} else {
  process.exitCode = run(...parameters);
}

function run(larder, url) {
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
  const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
  const protocol = revision ? ['--protocol', revision] : [];
  const identity = context.client_id
    ? ['--client-id', context.client_id]
    : ['--client-metadata', METADATA_DOCUMENT];
  const state = mkdtempSync(join(tmpdir(), 'larder-sign-in-'));
  const env = {
    ...process.env,
    BROWSER: `${process.execPath} ${import.meta.filename} open`,
    LARDER_CLIENT_SECRET: context.client_secret ?? '',
    XDG_STATE_HOME: state,
  };
  const steps = [
    ['login', url, ...identity],
    ['tools', '--login', '--url', url, ...protocol],
    ['call', 'test-tool', '--login', '--url', url, ...protocol],
  ];
  try {
    for (const step of steps) {
      const { status } = spawnSync(larder, step, { env, stdio: 'inherit' });
      if (status !== 0) {
        return 1;
      }
    }
    return 0;
  } finally {
    rmSync(state, { recursive: true });
  }
}
