// What the SDK defines for packages, compared with what Node has.

import assert from 'node:assert/strict';
import { register } from 'node:module';
import test from 'node:test';

const hooks = `
  const isOfHost = (name) => name.startsWith('larder:');
  const source = 'export const log = (...given) => logged.push(given);';
  export const resolve = (name, context, next) => (isOfHost(name) ? { url: name, shortCircuit: true } : next(name, context));
  export const load = (url, context, next) =>
    isOfHost(url) ? { format: 'module', source, shortCircuit: true } : next(url, context);
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

const NAMES = ['TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams', 'console', 'process', 'setTimeout'];
const logged = (globalThis.logged = []);

/** What an engine has that lacks these names, and the module. */
async function define(lacking) {
  const own = Object.fromEntries(NAMES.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]));
  for (const name of lacking) delete globalThis[name];
  try {
    const module = await import(`../src/define.js?${lacking}`);
    return { ...module, globals: Object.fromEntries(NAMES.map((name) => [name, globalThis[name]])) };
  } finally {
    Object.defineProperties(globalThis, own);
  }
}

const { globals, defineProvider } = await define(NAMES);

test('URLs have the same parts', () => {
  const { URL: Defined } = globals;
  const parts = ['href', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash', 'origin'];
  const parsed = (Class, given) => {
    const url = Class.parse ? Class.parse(...given) : Class.canParse(...given) ? new Class(...given) : null;
    return url && Object.fromEntries(parts.map((part) => [part, url[part]]));
  };
  const bases = ['https://example.org/a/b?q=1#h', 'file:///a/b', undefined];
  const inputs = ['http://user:pw@EXAMPLE.org:8080/a%20b/../c?x=ü&y=1 2#f g', 'https://a:443', 'c/d', '/c/./d/..', '../..//x', '?z', '#z', ''];
  inputs.push('//other/x', 'mailto:a@b.c', 'urn:x:y', 'notes://n/a', 'not a url', 'http://', 'http://a:99999/', 'http://[::1]:80/x', 'data:,x y');
  for (const input of inputs) {
    for (const base of bases) {
      const given = base ? [input, base] : [input];
      assert.deepEqual(parsed(Defined, given), parsed(URL, given), JSON.stringify(given));
    }
  }
});

test('parameters of a URL can be changed', () => {
  for (const Class of [globals.URL, URL]) {
    const url = new Class('https://a/?x=1&y=a+b%26&x=2');
    assert.deepEqual([url.searchParams.getAll('x').join(), url.searchParams.get('y'), url.searchParams.get('z')], ['1,2', 'a b&', null]);
    url.searchParams.set('x', 'é(');
    url.searchParams.append('z', '');
    assert.equal(url.href, 'https://a/?x=%C3%A9%28&y=a+b%26&z=');
    url.searchParams.delete('y');
    assert.equal([...url.searchParams].join(';'), 'x,é(;z,');
    url.search = '?q';
    assert.equal(`${url}`, 'https://a/?q');
  }
});

test('texts are converted', () => {
  const { TextDecoder: Decoder, TextEncoder: Encoder } = globals;
  assert.deepEqual([...new Encoder().encode('aé€𝄞')], [...new TextEncoder().encode('aé€𝄞')]);
  const wrong = [[0x61, 0xff, 0x62], [0xc3], [0xe2, 0x28], [0xff, 0xfe, 0xfd], [0x61, 0xc3, 0xa9, 0xff, 0xe2, 0x82, 0xac, 0x80]];
  for (const bytes of [[], [0xef, 0xbb, 0xbf, 0x61], ...wrong]) {
    const given = Uint8Array.from(bytes);
    assert.equal(new Decoder().decode(given), new TextDecoder().decode(given), String(bytes));
  }
  for (const bytes of wrong) assert.throws(() => new Decoder('utf8', { fatal: true }).decode(Uint8Array.from(bytes)), TypeError);
  assert.throws(() => new Decoder('shift_jis'), RangeError);
});

test('the console writes to the log as soon as there is a host', () => {
  globals.console.log('while the component is built');
  defineProvider({ read: () => ({ body: '' }) });
  const circular = {};
  circular.self = circular;
  globals.console.log('a', 1, { b: [undefined, null] }, null);
  globals.console.error(new RangeError('no'), circular);
  assert.deepEqual(logged[0], ['info', 'a 1 {"b":[null,null]} null']);
  assert.match(logged[1].join(), /^error,RangeError: no\n.*globals\.test\.js.*\[object Object\]$/s);
  assert.equal(logged.length, 2);
});

test('timers never end, and there are no variables', () => {
  assert.equal(typeof globals.setTimeout(assert.fail, 0).unref, 'function');
  assert.deepEqual(globals.process.env, {});
});

test('what the engine has is not replaced', async () => {
  const { globals: mixed } = await define(['URL']);
  assert.notEqual(mixed.URL, URL);
  assert.equal(mixed.TextEncoder, TextEncoder);
  assert.equal(mixed.console, console);
});
