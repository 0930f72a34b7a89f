// Messages name the author's files, also in a bundle, for which bundle.js adds where each place came from.

import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

// A copy of the module is the bundle. Lines 1 to 9 are those of the SDK, the others those of two files.
const folder = mkdtempSync(join(tmpdir(), 'location-'));
after(() => rmSync(folder, { recursive: true }));
const bundle = pathToFileURL(join(folder, 'provider.mjs')).href;
copyFileSync(new URL('../src/location.js', import.meta.url), join(folder, 'provider.mjs'));
globalThis.larderOrigins = {
  names: [null, 'provider.ts', 'lib/notes.ts'],
  // On the lines 1, 10, 12 and 14.
  places: `1 0 1${'\n'.repeat(9)}1 1 5;k 1 6\n\n1 2 14\n\n1 0 9`,
};
const { definedAt, located, thrownAt } = await import(bundle);
delete globalThis.larderOrigins;

const frame = (line, column) => `    at run (${bundle}:${line}:${column})`;
const stack = (...places) => `Error: x\n${places.map(([line, column]) => frame(line, column)).join('\n')}`;

test('the place of an error is in the source', () => {
  const check = (places, expected) => assert.equal(thrownAt({ stack: stack(...places) }), expected);
  check([[10, 1]], ' (provider.ts:5)');
  check([[10, 19]], ' (provider.ts:5)');
  check([[10, 20]], ' (provider.ts:6)');
  check([[11, 1]], ' (provider.ts:6)');
  check([[13, 4]], ' (lib/notes.ts:40)');
  // A frame of the SDK is not the author's.
  check([[3, 1], [14, 7], [12, 5]], ' (lib/notes.ts:40)');
  check([[3, 1]], '');
});

test('the definition of a function is in the source', () => {
  assert.equal(definedAt({ fileName: bundle, lineNumber: 10, columnNumber: 2 }), ' (provider.ts:5)');
  assert.equal(definedAt({ fileName: bundle, lineNumber: 10 }), ' (provider.ts:6)');
  assert.equal(definedAt({ fileName: bundle, lineNumber: 2 }), '');
  assert.equal(definedAt({ fileName: '/other.js', lineNumber: 2 }), ' (other.js:2)');
});

test('a stack has places in the source', () => {
  const other = '    at f (/other.js:1:2)';
  const shown = located(`${stack([10, 1], [2, 2])}\n${other}`);
  assert.equal(shown, `Error: x\n    at run (provider.ts:5)\n    at run (larder-provider)\n${other}`);
});

test('the places of another bundle', () => {
  const bundle = { file: '<input>', origins: { names: [null, 'provider.js'], places: '1 0 1\n\n1 1 7' } };
  const error = { stack: 'Error: x\n    at sdk (<input>:1:9)\n    at run (<input>:4:2)' };
  assert.equal(thrownAt(error, bundle), ' (provider.js:7)');
  assert.equal(located(error.stack, bundle), 'Error: x\n    at sdk (larder-provider)\n    at run (provider.js:7)');
});
