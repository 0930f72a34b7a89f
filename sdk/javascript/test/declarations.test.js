// The declarations for TypeScript name exactly what the modules export. `cargo xtask test sdk-typescript` checks the
// types.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { test } from 'node:test';

// The modules of the host have only what is imported by name.
const hooks = `
  const isOfHost = (name) => /^(larder|wasi):/.test(name);
  const source = 'export const [getDirectories, send, sendAll] = [];';
  export const resolve = (name, context, next) =>
    isOfHost(name) ? { url: name, shortCircuit: true } : next(name, context);
  export const load = (url, context, next) =>
    isOfHost(url) ? { format: 'module', source, shortCircuit: true } : next(url, context);
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

const names = (text, pattern) => new Set(Array.from(text.matchAll(pattern), ([, name]) => name));
const declared = (path) => readFileSync(new URL(`../src/${path}`, import.meta.url), 'utf8');
const sorted = (set) => [...set].sort();

// What exists at run time: functions, classes, constants and namespaces, but not types.
const VALUES = /^export (?:declare )?(?:function|class|const|namespace) (\w+)/gm;

test('index.d.ts declares what index.js exports', async () => {
  const module = await import('../src/index.js');
  assert.deepEqual(sorted(names(declared('index.d.ts'), VALUES)), Object.keys(module));
});

test('the functions of http are declared', async () => {
  const { http } = await import('../src/index.js');
  const [, inside] = declared('index.d.ts').split('export namespace http {');
  assert.deepEqual(sorted(names(inside, /^  function (\w+)/gm)), Object.keys(http));
});

test('interactive/index.d.ts declares what interactive/index.js exports', async () => {
  const module = await import('../src/interactive/index.js');
  const all = names(`${declared('index.d.ts')}\n${declared('interactive/index.d.ts')}`, VALUES);
  assert.deepEqual(sorted(all), Object.keys(module));
});
