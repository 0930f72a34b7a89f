// The parts that need no host, with any Node: `npm test`.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { explained, Invalid, NotFound, NotModified } from '../src/errors.js';
import { about, matched, matchGreedy } from '../src/greedy.js';
import { matching, paginate } from '../src/page.js';
import { Request } from '../src/request.js';
import { Response } from '../src/response.js';
import { decode, encode } from '../src/utf8.js';
import * as values from '../src/values.js';

test('a page holds what follows its cursor', () => {
  const entries = [0, 1, 2, 3, 4, 5].map((n) => ({ uri: `n:${n}`, details: { kind: n % 2 ? 'odd' : 'even' } }));
  const check = (query, expected, next) => {
    const page = paginate(entries, query);
    assert.deepEqual([page.entries.map(({ uri }) => uri), page.nextCursor], [expected, next]);
  };
  check({ limit: 2 }, ['n:0', 'n:1'], 'n:1');
  check({ limit: 2, cursor: 'n:3' }, ['n:4', 'n:5'], undefined);
  check({ limit: 9, cursor: 'n:35' }, ['n:4', 'n:5'], undefined);
  check({ limit: 0 }, ['n:0'], 'n:0');
  check({ limit: 2, kind: 'odd', cursor: null }, ['n:1', 'n:3'], 'n:3');
  check({ limit: 2, uriPrefix: 'n:4' }, ['n:4'], undefined);
});

test('an answer has no more than a hundred suggestions', () => {
  const { values, total, more } = matching(Array.from({ length: 150 }, (_, n) => String(n)), '');
  assert.deepEqual([values.length, total, more], [100, 150, true]);
});

test('text and bytes are the same thing twice, and what is not UTF-8 is refused', () => {
  const text = 'a ä € 𝄞 \u{10ffff} ' + 'x'.repeat(10_000);
  assert.deepEqual([...encode(text)], [...new TextEncoder().encode(text)]);
  assert.equal(decode(encode(text)), text);
  const mixed = new TextEncoder().encode('äx€𝄞'.repeat(20_000));
  assert.equal(decode(mixed), new TextDecoder().decode(mixed));
  const ends = Uint8Array.from([...new Uint8Array(8190).fill(65), 0xe2, 0x82, 0xac, 65]);
  assert.equal(decode(ends), new TextDecoder().decode(ends));
  const wrong = [new Uint8Array(9000).fill(0x80), [0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80], [0xe2, 0x28, 0xa1]];
  for (const bytes of wrong) assert.throws(() => decode(Uint8Array.from(bytes)), RangeError, String(bytes));
});

test('what is no answer is refused before the bindings meet it', () => {
  for (const given of [{}, { body: 5 }, { body: [1] }, [{ body: 'a' }, {}]]) {
    assert.throws(() => values.reading(given), /string or a Uint8Array/);
  }
  assert.throws(() => values.settled(Promise.resolve({ body: '' }), 'list'), /`list` must not be async/);
  assert.equal(values.settled('text', 'list'), 'text');
  assert.equal(values.reading({ body: Uint8Array.of(1) }).contents[0].body.tag, 'blob');
});

test('half a character is told as none', () => {
  const given = { body: ['caf\udce9', new Uint8Array(1), null, 5, undefined], uri: { a: 'ok' } };
  assert.deepEqual(values.whole(given), { ...given, body: ['caf\ufffd', new Uint8Array(1), null, 5, undefined] });
});

test('a request gives the values of its template', () => {
  const request = new Request({ uri: 'n:7', matched: { uriTemplate: 'n:{id}', variables: [['id', '7']] } });
  assert.equal(request.var('id'), '7');
  assert.throws(() => request.var('other'), Invalid);
  assert.throws(() => new Request({ uri: 'n:7' }).var('id'), NotFound);
  assert.throws(() => new Request({ uri: 'n:7', knownVersion: '3' }).unlessKnown('3'), NotModified);
});

test('what is thrown becomes what it means', () => {
  const log = [];
  const check = (thrown, expected, logged) => {
    log.length = 0;
    assert.deepEqual([explained(thrown, 'read', (line) => log.push(line)), log.length], [expected, logged]);
  };
  check(new NotFound('ignored'), { tag: 'not-found' }, 0);
  check(new Invalid('a bad cursor'), { tag: 'invalid', val: 'a bad cursor' }, 0);
  check(new TypeError('x'), { tag: 'failed', val: 'TypeError: x' }, 1);
  check('just text', { tag: 'failed', val: 'just text' }, 1);
});

test('what is left out has a default, and a BigInt is a number', () => {
  const entry = values.listed({ uri: 'n:1', name: 'one', size: 5n, details: { icons: [{ src: 'a:b' }] } });
  assert.equal(entry.size, 5);
  assert.deepEqual(entry.details, { icons: [{ src: 'a:b', sizes: [] }], audience: [], metadata: [] });
  assert.deepEqual(values.reading({ body: 'text' }).contents[0].body, { tag: 'text', val: 'text' });
  assert.deepEqual(values.reading([{ body: 'a' }, { body: new Uint8Array() }]).contents.length, 2);
  const reading = values.reading({ contents: { body: 'a' }, version: '3', freshness: { ttlMs: 10n } });
  assert.deepEqual([reading.version, reading.freshness], ['3', { ttlMs: 10, scope: 'everyone' }]);
  assert.deepEqual(values.page([{ uri: 'n:1', name: '' }], 'entries').entries.length, 1);
});

test('the last variable of a greedy template takes the rest', () => {
  const check = (template, uri, expected) => assert.deepEqual(matchGreedy(template, uri)?.variables, expected, uri);
  check('file:///{path}', 'file:///a/b/c', [['path', 'a/b/c']]);
  check('file:///{path}', 'file:///a%20b/%e2%82%ac', [['path', 'a b/€']]);
  check('git://{repo}/{path}', 'git://r/a/b', [['repo', 'r'], ['path', 'a/b']]);
  check('x:{a}-{b}.md', 'x:1-2-3/4.md', [['a', '1-2'], ['b', '3/4']]);
  check('x:{b}.md', 'x:1-md', undefined);
  const none = { 'file:///{path}': 'file:///', 'n:///{path}': 'n:///%ff', 'git://{repo}/{path}': 'git://r' };
  const odd = { 'x:{a}/{+b}': 'x:1/2', 'x:{a,b}': 'x:1/2', 'x:y': 'x:y' };
  for (const [template, uri] of Object.entries({ ...none, ...odd })) check(template, uri, undefined);
});

test('a greedy provider claims and matches', () => {
  const provider = { describe: () => ({ title: 'x' }), greedy: () => ['n:///{path}', 'n:///{a}/{b}'] };
  assert.deepEqual(about(provider), { title: 'x', claims: ['n:///'] });
  assert.equal(matched(provider, 'n:///a/b').uriTemplate, 'n:///{path}');
  assert.equal(matched({}, 'n:///a/b'), null);
  assert.equal(matched({ ...provider, matchUri: () => null }, 'n:///a/b'), null);
});

test('a status becomes what it means', () => {
  const response = (status) => new Response({ status, headers: [['ETag', '7']], body: encode('{"a":1}') });
  assert.deepEqual([response(200).accepted().header('etag'), response(200).json().a], ['7', 1]);
  assert.throws(() => response(404).accepted(), NotFound);
  assert.throws(() => response(503).accepted(), /503/);
});
