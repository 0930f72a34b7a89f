// Native tests of the parts that need no host, with any Node: `npm test`.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toError, Failed, FileNotFound, Invalid, NotFound, NotModified } from '../src/errors.js';
import { description, matchGreedy, matchUri } from '../src/greedy.js';
import { matching, paginate } from '../src/page.js';
import { Request } from '../src/request.js';
import { Response } from '../src/response.js';
import { decode, encode } from '../src/utf8.js';

test('a page begins after the cursor', () => {
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

test('a page ends early if its entries are slow', (t) => {
  let now = 0;
  t.mock.method(Date, 'now', () => now);
  function* slow() {
    for (let n = 0; n < 6; n++) {
      // The time before the first entry is the same for each page, so it does not count.
      now += n === 0 ? 300 : 160;
      yield { uri: `n:${n}` };
    }
  }
  const page = paginate(slow(), { limit: 9 });
  assert.deepEqual([page.entries.length, page.nextCursor], [2, 'n:1']);
});

test('an array is searched for the cursor', () => {
  let compared = 0;
  const entries = Array.from({ length: 50_000 }, (_, n) => ({
    get uri() {
      compared++;
      return `n:${String(n).padStart(5, '0')}`;
    },
  }));
  const page = paginate(entries, { limit: 3, cursor: 'n:40000' });
  assert.ok(compared < 40, `${compared} comparisons`);
  assert.deepEqual([page.entries.map(({ uri }) => uri), page.nextCursor], [['n:40001', 'n:40002', 'n:40003'], 'n:40003']);
  assert.deepEqual(paginate(entries, { limit: 3, cursor: 'n:49999' }), { entries: [] });
});

test('a function begins after the cursor', () => {
  let created = 0;
  function* numbers(after) {
    for (let n = after === undefined ? 0 : Number(after.slice(2)); n < 50_000; n++) {
      created++;
      yield { uri: `n:${String(n).padStart(5, '0')}` };
    }
  }
  const found = [];
  let pages = 0;
  for (let cursor = null; cursor !== undefined; pages++) {
    const page = paginate(numbers, { limit: 1000, cursor });
    found.push(...page.entries);
    cursor = page.nextCursor;
  }
  assert.deepEqual([found.length, found.at(-1).uri, new Set(found.map(({ uri }) => uri)).size], [50_000, 'n:49999', 50_000]);
  // One entry more at both ends of each page.
  assert.ok(created < 50_000 + 2 * pages, `${created} entries`);
});

test('entries that are created again for each page are reported', (t) => {
  let now = 0;
  t.mock.method(Date, 'now', () => now);
  function* slow() {
    for (let n = 0; n < 6; n++) {
      now += 80;
      yield { uri: `n:${n}` };
    }
  }
  const warnings = [];
  const warn = (text) => warnings.push(text);
  paginate(slow(), { limit: 1, cursor: 'n:1' }, warn);
  assert.deepEqual(warnings, []);
  paginate(slow(), { limit: 1, cursor: 'n:3' }, warn);
  assert.match(warnings.join(), /created 4 entries again in 0.4 s/);
});

test('a completion has at most a hundred values', () => {
  const { values, total, more } = matching(Array.from({ length: 150 }, (_, n) => String(n)), '');
  assert.deepEqual([values.length, total, more], [100, 150, true]);
});

test('a missing file leaves a trace', () => {
  const log = [];
  const logged = (...given) => log.push(given);
  const missing = new FileNotFound('cannot read /notes/x: no-entry');
  assert.deepEqual(toError(missing, 'read', logged), { tag: 'not-found' });
  assert.match(log[0][0], /^read: not found, because of cannot read \/notes\/x: no-entry \(.*sdk\.test\.js:\d+\)$/);
  assert.equal(log[0][1], 'debug');
  const { tag, val } = toError(missing, 'list', logged);
  assert.match(`${tag} ${val}`, /^failed cannot read \/notes\/x: no-entry \(.*sdk\.test\.js:\d+\)$/);
  assert.equal(log.length, 1);
});

test('encoding and decoding round-trip, and invalid UTF-8 is rejected', () => {
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

test('a request returns the values of its template', () => {
  const variable = (name, value, key = null) => ({ name, key, value });
  const variables = [variable('id', '7'), variable('tag', 'a'), variable('tag', 'b'), variable('at', '1', 'x'), variable('at', '2', 'y')];
  const request = new Request({ uri: 'n:7', matched: { uriTemplate: 'n:{id}{?tag*,at*}', variables } });
  assert.deepEqual([request.var('id'), request.var('tag')], ['7', 'a,b']);
  assert.deepEqual([request.vars('tag'), request.vars('at'), request.vars('other')], [['a', 'b'], ['1', '2'], []]);
  assert.deepEqual([request.map('at'), request.map('tag')], [{ x: '1', y: '2' }, {}]);
  assert.throws(() => request.var('other'), Invalid);
  assert.throws(() => new Request({ uri: 'n:7' }).var('id'), NotFound);
  assert.throws(() => new Request({ uri: 'n:7', knownVersion: '3' }).unlessKnown('3'), NotModified);
});

test('exceptions are mapped to errors', () => {
  const log = [];
  const withoutStack = (error) => Object.assign(error, { stack: undefined });
  const check = (thrown, expected, logged) => {
    log.length = 0;
    assert.deepEqual([toError(thrown, 'read', (line) => log.push(line)), log.length], [expected, logged]);
  };
  check(new NotFound('ignored'), { tag: 'not-found' }, 0);
  check(new Invalid('a bad cursor'), { tag: 'invalid', val: 'a bad cursor' }, 0);
  check(withoutStack(new TypeError('x')), { tag: 'failed', val: 'TypeError: x' }, 1);
  check('just text', { tag: 'failed', val: 'just text' }, 1);
  check({ code: 5 }, { tag: 'failed', val: 'threw { code }' }, 1);
  check(Object.create(null), { tag: 'failed', val: 'threw {}' }, 1);
  check(undefined, { tag: 'failed', val: 'threw undefined' }, 1);
  check(Object.assign(new Failed(), { tag: 'odd', message: 5 }), { tag: 'failed', val: '5' }, 0);
  check(new Failed('caf\udce9'), { tag: 'failed', val: 'caf\ufffd' }, 0);
});

test('the last variable of a greedy template matches slashes', () => {
  const check = (template, uri, expected) => {
    const variables = expected?.map(([name, value]) => ({ name, key: null, value }));
    assert.deepEqual(matchGreedy(template, uri)?.variables, variables, uri);
  };
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
  const none = { version: null, summary: null, instructions: null };
  assert.deepEqual(description(provider), { title: 'x', ...none, claims: ['n:///'] });
  assert.equal(matchUri(provider, 'n:///a/b').uriTemplate, 'n:///{path}');
  assert.equal(matchUri({}, 'n:///a/b'), null);
  assert.equal(matchUri({ ...provider, matchUri: () => null }, 'n:///a/b'), null);
});

test('status codes are mapped to errors', () => {
  const response = (status) => new Response({ status, headers: [['ETag', '7']], body: encode('{"a":1}') });
  assert.deepEqual([response(200).accepted().header('etag'), response(200).json().a], ['7', 1]);
  assert.throws(() => response(404).accepted(), NotFound);
  assert.throws(() => response(503).accepted(), /503/);
});
