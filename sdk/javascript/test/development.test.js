// The exported functions of the component of `larder dev`.

import assert from 'node:assert/strict';
import test from 'node:test';

import { forwardedInteractions, forwardedResources } from '../src/development/exports.js';

test('calls the functions of the program', () => {
  const resourceProvider = { readResource: (request) => `read ${request}`, describe: () => 'described' };
  const { resourceProvider: forwarded } = forwardedResources(() => ({ exports: { resourceProvider } }));
  assert.equal(forwarded.readResource('a:b'), 'read a:b');
  assert.equal(forwarded.describe(), 'described');
});

test('reports why a program cannot be loaded', () => {
  const silent = [];
  const load = (isSilent) => {
    silent.push(Boolean(isSilent));
    return { problem: 'Error: broken (provider.js:3)' };
  };
  const { resourceProvider } = forwardedResources(load);
  const { settingsProvider, toolProvider } = forwardedInteractions(load);
  assert.deepEqual(resourceProvider.describe(), { summary: 'Error: broken (provider.js:3)', claims: [] });
  assert.equal(resourceProvider.matchUri('a:b'), null);
  assert.deepEqual(settingsProvider.settings(), []);
  const failed = { tag: 'failed', val: 'Error: broken (provider.js:3)' };
  assert.throws(() => resourceProvider.listResources({}), failed);
  assert.throws(() => toolProvider.callTool({}), failed);
  // Functions without errors do not log it: the next one does.
  assert.deepEqual(silent, [true, true, true, false, false]);
});

test('says what a program must export', () => {
  const { completionProvider } = forwardedResources(() => ({ exports: {} }));
  const val = 'the program has no export `completionProvider`: export what `defineProvider` returns';
  assert.throws(() => completionProvider.complete({}), { tag: 'failed', val });
});
