// The key-value store with a substitute for the host: `npm test`.

import assert from 'node:assert/strict';
import { register } from 'node:module';
import { test } from 'node:test';

// The module of the host keeps values in a map, two keys on a page.
const host = `
  const values = new Map();
  const fail = (tag, val) => { throw Object.assign(new Error(tag), { payload: { tag, val } }); };
  const check = (bucket) => { if (bucket === 'caller') fail('no-caller'); };
  const same = (a, b) => (a === null) === (b === null) && String(a) === String(b);
  export const get = (bucket, key) => (check(bucket), values.get(key) ?? null);
  export const set = (bucket, key, value) => (value.length > 9 ? fail('too-large') : values.set(key, value));
  const remove = (bucket, key) => void values.delete(key);
  export { remove as delete };
  export const compareAndSwap = (bucket, key, expected, value) => {
    if (!same(values.get(key) ?? null, expected)) return false;
    value === null ? values.delete(key) : values.set(key, value);
    return true;
  };
  export const listKeys = (bucket, prefix, cursor, limit) => {
    const keys = [...values.keys()].sort().filter((key) => key.startsWith(prefix) && key > (cursor ?? ''));
    return { keys: keys.slice(0, 2), nextCursor: keys.length > 2 ? keys[1] : undefined };
  };
`;
const hooks = `
  const isOfHost = (name) => name.startsWith('larder:');
  export const resolve = (name, context, next) =>
    isOfHost(name) ? { url: name, shortCircuit: true } : next(name, context);
  export const load = (url, context, next) =>
    isOfHost(url) ? { format: 'module', source: ${JSON.stringify(host)}, shortCircuit: true } : next(url, context);
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
const { caller, shared } = await import('../src/key-value.js');
const { Denied, Failed } = await import('../src/errors.js');

test('values are stored, swapped, listed and deleted', () => {
  for (const key of ['a/1', 'a/2', 'a/3', 'b']) shared.set(key, key);
  assert.deepEqual([shared.getText('a/1'), shared.getText('c')], ['a/1', undefined]);
  assert.deepEqual(shared.get('b'), Uint8Array.of(98));
  assert.deepEqual([...shared.keys('a/')], ['a/1', 'a/2', 'a/3']);
  assert.equal(shared.compareAndSwap('b', undefined, 'x'), false);
  assert.equal(shared.compareAndSwap('b', 'b', undefined), true);
  assert.equal(shared.compareAndSwap('b', undefined, Uint8Array.of(1)), true);
  shared.delete('a/1');
  assert.deepEqual([...shared.keys()], ['a/2', 'a/3', 'b']);
});

test('failures are thrown as errors', () => {
  assert.throws(() => caller.get('a'), Denied);
  assert.throws(() => shared.set('a', 'x'.repeat(10)), Failed);
  assert.throws(() => shared.set('a', 7), /the value must be/);
});
