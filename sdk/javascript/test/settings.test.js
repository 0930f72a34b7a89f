// Native tests of settings: declarations, and typed values.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { declare, read, settings } from '../src/interactive/settings.js';

const declareAll = (given) => declare(settings({ settings: given }));

test('settings are declared as they would be written', () => {
  const check = (given, expected) => {
    const base = { name: 'x', description: 'd', default: null, required: false, secret: false };
    assert.deepEqual(settings({ settings: { x: { description: 'd', ...given } } }), [{ ...base, ...expected }]);
  };
  check({ type: 'text', required: true, secret: true }, { kind: 'text', required: true, secret: true });
  check({ type: 'text', default: 'a' }, { kind: 'text', default: 'a' });
  check({ type: 'number', default: 1.5 }, { kind: 'number', default: '1.5' });
  check({ type: 'boolean', default: false }, { kind: 'boolean', default: 'false' });
  check({ type: 'size', default: 1024 }, { kind: 'size', default: '1024' });
  check({ type: 'size', default: '1KiB' }, { kind: 'size', default: '1KiB' });
  check({ type: 'duration', default: '1m 30s' }, { kind: 'duration', default: '1m 30s' });
});

// A type, a text, and its value; undefined if the text is wrong.
const VALUES = [
  ['text', '', ''],
  ['number', '-1.5e3', -1500],
  ['number', '', undefined],
  ['number', 'Infinity', undefined],
  ['number', '5 apples', undefined],
  ['boolean', 'true', true],
  ['boolean', 'false', false],
  ['boolean', 'yes', undefined],
  ['boolean', 'constructor', undefined],
  ['size', '512', 512],
  ['size', '64MiB', 64 * 2 ** 20],
  ['size', '2 kB', 2000],
  ['size', '1.5MB', undefined],
  ['size', '1mb', undefined],
  ['size', '99999999999GiB', undefined],
  ['duration', '250ms', 250],
  ['duration', '1m 30s', 90_000],
  ['duration', '1h30min', 5_400_000],
  ['duration', '1.5s', 1500],
  ['duration', '2 weeks', 1_209_600_000],
  ['duration', '1M', 2_630_016_000],
  ['duration', '0', 0],
  ['duration', '10', undefined],
  ['duration', '5 fortnights', undefined],
  ['duration', '', undefined],
];

for (const [type, text, expected] of VALUES) {
  test(`the ${type} ${JSON.stringify(text)}`, () => {
    declareAll({ x: { type, description: '' } });
    if (expected !== undefined) return assert.equal(read('x', text), expected);
    assert.throws(() => read('x', text), { tag: 'failed', message: /^the setting `x` must be .*, but is ".*"$/ });
  });
}

test('a setting has its value, the default of the call, or the declared default', () => {
  declareAll({ a: { type: 'number', description: '', default: 5 }, b: { type: 'text', description: '' } });
  assert.deepEqual([read('a', '7', 6), read('a', undefined, 6), read('a')], [7, 6, 5]);
  assert.deepEqual([read('b', 'x'), read('b', undefined, 'y'), read('b')], ['x', 'y', undefined]);
});

test('a required setting is not missing, and a secret is not shown', () => {
  declareAll({ key: { type: 'number', description: '', required: true, secret: true } });
  assert.throws(() => read('key'), { tag: 'failed', message: 'the setting `key` is missing' });
  assert.throws(() => read('key', 'abc'), { message: 'the setting `key` must be a number, such as "5"' });
});

test('a provider that declares settings reads no other', () => {
  declareAll({ depth: { type: 'number', description: '' } });
  const message = 'the provider reads an unknown setting `dept`: did you mean `depth`?';
  assert.throws(() => read('dept', '5'), new TypeError(message));
  declareAll({});
  assert.deepEqual([read('dept', '5'), read('dept', undefined, 'x')], ['5', 'x']);
});
