// `build.js`, with a compiler that prints its options.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const BUILD = fileURLToPath(new URL('../build.js', import.meta.url));
const COMPILER = { bin: { 'componentize-qjs': 'print.js' }, type: 'module' };

/** Runs it in a folder of a tree of `package.json` files and links. Returns its options, or its message. */
function build({ packages, links = {}, project, options = [] }) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'larder-build-')));
  try {
    for (const [folder, manifest] of Object.entries(packages)) {
      mkdirSync(join(root, folder), { recursive: true });
      writeFileSync(join(root, folder, 'package.json'), JSON.stringify(manifest));
      if (manifest === COMPILER) {
        writeFileSync(join(root, folder, 'print.js'), 'console.log(JSON.stringify(process.argv.slice(2)))');
      }
    }
    for (const [link, to] of Object.entries(links)) {
      mkdirSync(dirname(join(root, link)), { recursive: true });
      symlinkSync(join(root, to), join(root, link));
    }
    const ran = spawnSync(process.execPath, [BUILD, ...options], { cwd: join(root, project), encoding: 'utf8' });
    const text = (ran.status === 0 ? ran.stdout : ran.stderr).replaceAll(root, 'ROOT').trim();
    return ran.status === 0 ? JSON.parse(text) : text;
  } finally {
    rmSync(root, { recursive: true });
  }
}

function moduleRoot(tree) {
  const options = build(tree);
  assert(Array.isArray(options), options);
  return options[options.indexOf('--module-root') + 1];
}

test('adds the options that the server needs', () => {
  const packages = { p: {}, 'p/node_modules/componentize-qjs': COMPILER };
  const options = build({ packages, project: 'p', options: ['--js', 'provider.js', '--sync'] });
  const wit = join(dirname(BUILD), 'wit');
  assert.deepEqual(options, ['--wit', wit, '--js', 'provider.js', '--sync', '--module-root', 'ROOT/p']);
});

test('says how to install the compiler', () => {
  const message = build({ packages: { p: {} }, project: 'p' });
  assert.match(message, /^componentize-qjs is not installed in ROOT\/p or a folder above it: run `npm install`/);
});

test('all dependencies are below the module root', () => {
  const compiler = { 'node_modules/componentize-qjs': COMPILER };
  const project = 'packages/p';
  const own = (dependencies) => ({ ...compiler, 'packages/p': { dependencies } });
  // Nothing but the project.
  assert.equal(moduleRoot({ packages: own({}), project }), 'ROOT/packages/p');
  // Hoisted.
  const hoisted = { ...own({ a: '1' }), 'node_modules/a': {} };
  assert.equal(moduleRoot({ packages: hoisted, project }), 'ROOT');
  // A package of the same workspace, which needs another one.
  const packages = { ...own({ a: '*' }), 'packages/a': { dependencies: { b: '*' } }, 'libraries/b': {} };
  const links = { 'packages/p/node_modules/a': 'packages/a' };
  assert.equal(moduleRoot({ packages, links, project }), 'ROOT/packages');
  const more = { ...links, 'packages/a/node_modules/b': 'libraries/b' };
  assert.equal(moduleRoot({ packages, links: more, project }), 'ROOT');
  // Packages that need each other.
  const cycle = { ...own({ a: '*' }), 'packages/a': { dependencies: { p: '*' } } };
  assert.equal(moduleRoot({ packages: cycle, links: { ...links, 'packages/a/node_modules/p': 'packages/p' }, project }), 'ROOT/packages');
});
