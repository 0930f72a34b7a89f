// Native tests of the checks: one row for each mistake, with the exact message.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { NotFound } from '../src/errors.js';
import { createExports } from '../src/exports.js';

const KNOWN = '`describe`, `list`, `templates`, `greedy`, `matchUri`, `read`, `complete`, `versions`';
const LONG = 'x'.repeat(100);

// Calls the exported function for a function of the provider. Returns its result or its error, and what was logged.
function run(name, implementation) {
  const logged = [];
  const provider = { read: () => null, [name]: implementation };
  const { resourceProvider, completionProvider, versionProvider } = createExports(provider, (text) => logged.push(text));
  const exported = {
    describe: resourceProvider.describe,
    greedy: resourceProvider.describe,
    list: () => resourceProvider.listResources({ limit: 100 }),
    templates: () => resourceProvider.listTemplates(null),
    matchUri: () => resourceProvider.matchUri('a://x'),
    read: () => resourceProvider.readResource({ uri: 'a://x' }),
    complete: () => completionProvider.complete({ uriTemplate: 'a://{x}', variable: 'x', prefix: '', filled: [] }),
    versions: () => versionProvider.versions(['a://x', 'a://y']),
  };
  try {
    return { result: exported[name](), logged };
  } catch (error) {
    return { error, logged };
  }
}

const entry = (more) => [{ uri: 'a://x', name: 'x', ...more }];
const details = (details) => entry({ details });
const content = (more) => ({ body: '', ...more });

// The function, its result, and the message after `… returned a wrong value: `.
const MISTAKES = [
  ['list', undefined, 'the result must be an array or an object with `entries`, but is undefined; is a `return` missing?'],
  ['list', null, 'the result must be an array or an object with `entries`, but is null'],
  ['list', 'a://x', 'the result must be an array or an object with `entries`, but is "a://x"'],
  ['list', new Set(), 'the result must be an array or an object with `entries`, but is a Set'],
  ['list', Promise.resolve([]), 'the result must not be a Promise: a function of a provider is never `async`'],
  ['list', [null], 'entry 0 must be an object with `uri` and `name`, but is null'],
  ['list', [...entry(), 'a://y'], 'entry 1 must be an object with `uri` and `name`, but is "a://y"'],
  ['list', [Promise.resolve()], 'entry 0 must be an object with `uri` and `name`, but is a Promise'],
  ['list', [{ url: 'a://x', name: 'x' }], 'entry 0 (name "x") has the unknown property `url`: did you mean `uri`?'],
  ['list', entry({ mimetype: 'text/plain' }), 'entry 0 (uri "a://x") has the unknown property `mimetype`: did you mean `mimeType`?'],
  ['list', entry({ mime: 'text/plain' }), 'entry 0 (uri "a://x") has the unknown property `mime`: did you mean `mimeType`?'],
  ['list', entry({ lastModified: '' }), 'entry 0 (uri "a://x") has the unknown property `lastModified`: known are `uri`, `name`, `title`, `description`, `mimeType`, `details`, `size`, `version`'],
  ['list', details({ größe: 1 }), '`details` of entry 0 (uri "a://x") has the unknown property `größe`: known are `kind`, `audience`, `priority`, `lastModified`, `icons`, `metadata`'],
  ['list', details({ 日本語: 1 }), '`details` of entry 0 (uri "a://x") has the unknown property `日本語`: known are `kind`, `audience`, `priority`, `lastModified`, `icons`, `metadata`'],
  ['list', entry({ [LONG]: 1 }), `entry 0 (uri "a://x") has the unknown property \`${LONG.slice(0, 59)}…\`: known are \`uri\`, \`name\`, \`title\`, \`description\`, \`mimeType\`, \`details\`, \`size\`, \`version\``],
  ['list', [{ name: 'x' }], '`uri` of entry 0 (name "x") must be a string, but is undefined'],
  ['list', [{ uri: 'a://x', name: null }], '`name` of entry 0 (uri "a://x") must be a string, but is null'],
  ['list', [{ uri: 5, name: {} }], '`uri` of entry 0 must be a string, but is 5'],
  ['list', entry({ title: ['x'] }), '`title` of entry 0 (uri "a://x") must be a string, but is an array of 1 item'],
  ['list', entry({ description: { a: 1, b: 2 } }), '`description` of entry 0 (uri "a://x") must be a string, but is { a, b }'],
  ['list', entry({ mimeType: 5 }), '`mimeType` of entry 0 (uri "a://x") must be a string, but is 5'],
  ['list', [{ uri: `a://${LONG}`, name: 5 }], `\`name\` of entry 0 (uri "a://${LONG.slice(0, 53)}…") must be a string, but is 5`],
  ['list', entry({ version: 7n }), '`version` of entry 0 (uri "a://x") must be a string, but is 7n'],
  ['list', entry({ version: () => '' }), '`version` of entry 0 (uri "a://x") must be a string, but is a function'],
  ['list', entry({ version: Symbol('x') }), '`version` of entry 0 (uri "a://x") must be a string, but is Symbol(x)'],
  ['list', entry({ version: new Date(0) }), '`version` of entry 0 (uri "a://x") must be a string, but is a Date'],
  ['list', entry({ size: -1 }), '`size` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is -1'],
  ['list', entry({ size: 1.5 }), '`size` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is 1.5'],
  ['list', entry({ size: NaN }), '`size` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is NaN'],
  ['list', entry({ size: Infinity }), '`size` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is Infinity'],
  ['list', entry({ size: '5' }), '`size` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is "5"'],
  ['list', entry({ size: true }), '`size` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is true'],
  ['list', entry({ size: 2 ** 53 }), '`size` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is 9007199254740992'],
  ['list', entry({ size: 2n ** 53n }), '`size` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is 9007199254740992n'],
  ['list', entry({ size: 10n ** 99n }), `\`size\` of entry 0 (uri "a://x") must be an integer from 0 to 2^53 - 1, but is 1${'0'.repeat(58)}…`],
  ['list', details('file'), '`details` of entry 0 (uri "a://x") must be an object, but is "file"'],
  ['list', details({ lastmodified: '' }), '`details` of entry 0 (uri "a://x") has the unknown property `lastmodified`: did you mean `lastModified`?'],
  ['list', details({ kind: 5 }), '`details.kind` of entry 0 (uri "a://x") must be a string, but is 5'],
  ['list', details({ audience: 'user' }), '`details.audience` of entry 0 (uri "a://x") must be an array, but is "user"'],
  ['list', details({ audience: ['user', 'admin'] }), '`details.audience[1]` of entry 0 (uri "a://x") must be "user" or "assistant", but is "admin"'],
  ['list', details({ priority: '1' }), '`details.priority` of entry 0 (uri "a://x") must be a finite number, but is "1"'],
  ['list', details({ priority: NaN }), '`details.priority` of entry 0 (uri "a://x") must be a finite number, but is NaN'],
  ['list', details({ priority: 1n }), '`details.priority` of entry 0 (uri "a://x") must be a finite number, but is 1n'],
  ['list', details({ lastModified: new Date(0) }), '`details.lastModified` of entry 0 (uri "a://x") must be a string, but is a Date'],
  ['list', details({ icons: ['a:b'] }), '`details.icons[0]` of entry 0 (uri "a://x") must be an object with `src`, but is "a:b"'],
  ['list', details({ icons: [{ source: 'a:b' }] }), '`details.icons[0]` of entry 0 (uri "a://x") has the unknown property `source`: known are `src`, `mimeType`, `sizes`, `theme`'],
  ['list', details({ icons: [{}] }), '`details.icons[0].src` of entry 0 (uri "a://x") must be a string, but is undefined'],
  ['list', details({ icons: [{ src: 'a:b', mimeType: 5 }] }), '`details.icons[0].mimeType` of entry 0 (uri "a://x") must be a string, but is 5'],
  ['list', details({ icons: [{ src: 'a:b' }, { src: 'a:b', sizes: ['any', 48] }] }), '`details.icons[1].sizes[1]` of entry 0 (uri "a://x") must be a string, but is 48'],
  ['list', details({ icons: [{ src: 'a:b', theme: 'blue' }] }), '`details.icons[0].theme` of entry 0 (uri "a://x") must be "light" or "dark", but is "blue"'],
  ['list', details({ metadata: 'a' }), '`details.metadata` of entry 0 (uri "a://x") must be an object with strings or an array of pairs, but is "a"'],
  ['list', details({ metadata: new Map() }), '`details.metadata` of entry 0 (uri "a://x") must be an object with strings or an array of pairs, but is a Map'],
  ['list', details({ metadata: { 'a/b': 1 } }), '`details.metadata.a/b` of entry 0 (uri "a://x") must be a string, but is 1'],
  ['list', details({ metadata: ['a', '1'] }), '`details.metadata[0]` of entry 0 (uri "a://x") must be an array of two strings, but is "a"'],
  ['list', details({ metadata: [['a']] }), '`details.metadata[0]` of entry 0 (uri "a://x") must be an array of two strings, but is an array of 1 item'],
  ['list', details({ metadata: [['a', 1]] }), '`details.metadata[0][1]` of entry 0 (uri "a://x") must be a string, but is 1'],
  ['list', { entrys: [] }, 'the result has the unknown property `entrys`: did you mean `entries`?'],
  ['list', { items: [] }, 'the result has the unknown property `items`: known are `entries`, `nextCursor`, `freshness`'],
  ['list', {}, '`entries` must be an array, but is undefined'],
  ['list', { entries: entry({ name: 5 }) }, '`name` of entry 0 (uri "a://x") must be a string, but is 5'],
  ['list', { entries: [], nextCursor: 5 }, '`nextCursor` must be a string, but is 5'],
  ['list', { entries: [], cursor: '' }, 'the result has the unknown property `cursor`: did you mean `nextCursor`?'],
  ['list', { entries: [], freshness: 5 }, '`freshness` must be an object with `ttlMs`, but is 5'],
  ['list', { entries: [], freshness: {} }, '`freshness.ttlMs` must be an integer from 0 to 2^53 - 1, but is undefined'],
  ['list', { entries: [], freshness: { ttl: 5 } }, '`freshness` has the unknown property `ttl`: did you mean `ttlMs`?'],
  ['list', { entries: [], freshness: { ttlMs: 0.5 } }, '`freshness.ttlMs` must be an integer from 0 to 2^53 - 1, but is 0.5'],
  ['list', { entries: [], freshness: { ttlMs: 5, scope: 'all' } }, '`freshness.scope` must be "everyone" or "caller", but is "all"'],
  ['templates', undefined, 'the result must be an array or an object with `templates`, but is undefined; is a `return` missing?'],
  ['templates', ['a://{x}'], 'template 0 must be an object with `uriTemplate` and `name`, but is "a://{x}"'],
  ['templates', [{ uri: 'a://{x}', name: 'x' }], 'template 0 (name "x") has the unknown property `uri`: did you mean `uriTemplate`?'],
  ['templates', [{ uriTemplate: 'a://{x}' }], '`name` of template 0 (uriTemplate "a://{x}") must be a string, but is undefined'],
  ['templates', [{ name: 'x', uriTemplate: ['a://{x}'] }], '`uriTemplate` of template 0 (name "x") must be a string, but is an array of 1 item'],
  ['templates', [{ uriTemplate: 'a://{x}', name: 'x', details: { kind: 5 } }], '`details.kind` of template 0 (uriTemplate "a://{x}") must be a string, but is 5'],
  ['templates', { templates: [], nextCursor: 5 }, '`nextCursor` must be a string, but is 5'],
  ['templates', { templates: [], freshness: { ttlMs: -1 } }, '`freshness.ttlMs` must be an integer from 0 to 2^53 - 1, but is -1'],
  ['read', undefined, 'the result must be an object with `body` or `contents`, or an array of contents, but is undefined; is a `return` missing?'],
  ['read', 'text', 'the result must be an object with `body` or `contents`, or an array of contents, but is "text"'],
  ['read', Uint8Array.of(1), 'the result must be an object with `body` or `contents`, or an array of contents, but is a Uint8Array of 1 byte'],
  ['read', {}, '`body` must be a string or a Uint8Array, but is undefined'],
  ['read', { text: '' }, 'the result has the unknown property `text`: known are `uri`, `mimeType`, `body`, `metadata`, `version`, `freshness`, `contents`'],
  ['read', { content: [] }, 'the result has the unknown property `content`: did you mean `contents`?'],
  ['read', { body: 5 }, '`body` must be a string or a Uint8Array, but is 5'],
  ['read', { body: [1] }, '`body` must be a string or a Uint8Array, but is an array of 1 item'],
  ['read', { body: new ArrayBuffer(1) }, '`body` must be a string or a Uint8Array, but is an ArrayBuffer'],
  ['read', content({ mimeType: 5 }), '`mimeType` must be a string, but is 5'],
  ['read', content({ uri: new URL('a://x') }), '`uri` must be a string, but is a URL'],
  ['read', content({ metadata: { a: null } }), '`metadata.a` must be a string, but is null'],
  ['read', content({ version: 3 }), '`version` must be a string, but is 3'],
  ['read', content({ freshness: 3 }), '`freshness` must be an object with `ttlMs`, but is 3'],
  ['read', [content(), 'text'], 'content 1 must be an object with `body`, but is "text"'],
  ['read', [content({ uri: 'a://x', mimetype: '' })], 'content 0 (uri "a://x") has the unknown property `mimetype`: did you mean `mimeType`?'],
  ['read', [content(), {}], '`body` of content 1 must be a string or a Uint8Array, but is undefined'],
  ['read', { contents: undefined }, '`contents` must be an object with `body`, but is undefined'],
  ['read', { contents: content({ mimeType: 5 }) }, '`contents.mimeType` must be a string, but is 5'],
  ['read', { contents: [content({ mimeType: 5 })] }, '`mimeType` of content 0 must be a string, but is 5'],
  ['read', { contents: [], version: 3 }, '`version` must be a string, but is 3'],
  ['read', { contents: [], freshness: { ttlMs: '1' } }, '`freshness.ttlMs` must be an integer from 0 to 2^53 - 1, but is "1"'],
  ['read', { contents: [], mimeType: '' }, 'the result has the unknown property `mimeType`: known are `contents`, `version`, `freshness`'],
  ['complete', undefined, 'the result must be an object with `values`, but is undefined; is a `return` missing?'],
  ['complete', ['a'], 'the result must be an object with `values`, but is an array of 1 item'],
  ['complete', { value: [] }, 'the result has the unknown property `value`: did you mean `values`?'],
  ['complete', { values: 'a' }, '`values` must be an array, but is "a"'],
  ['complete', { values: ['a', 5] }, '`values[1]` must be a string, but is 5'],
  ['complete', { total: -1 }, '`total` must be an integer from 0 to 2^53 - 1, but is -1'],
  ['complete', { more: 1 }, '`more` must be true or false, but is 1'],
  ['versions', undefined, 'the result must be an array of length 2, with a version or null for each URI, but is undefined; is a `return` missing?'],
  ['versions', ['1'], 'the result must be an array of length 2, with a version or null for each URI, but is an array of 1 item'],
  ['versions', ['1', 2], 'version 1 must be a string, but is 2'],
];

// Functions whose result is not a `result` in the contract: the message is in the log.
const LOGGED_MISTAKES = [
  ['describe', undefined, 'the result must be an object, but is undefined; is a `return` missing?'],
  ['describe', 'x', 'the result must be an object, but is "x"'],
  ['describe', { name: 'x' }, 'the result has the unknown property `name`: known are `title`, `version`, `summary`, `instructions`, `claims`'],
  ['describe', { titel: 'x' }, 'the result has the unknown property `titel`: did you mean `title`?'],
  ['describe', { title: 5 }, '`title` must be a string, but is 5'],
  ['describe', { version: 1 }, '`version` must be a string, but is 1'],
  ['describe', { summary: [] }, '`summary` must be a string, but is an array of 0 items'],
  ['describe', { instructions: {} }, '`instructions` must be a string, but is {}'],
  ['describe', { claims: 'a://' }, '`claims` must be an array, but is "a://"'],
  ['describe', { claims: ['a://', null] }, '`claims[1]` must be a string, but is null'],
  ['greedy', 'a://{x}', 'the result must be an array, but is "a://{x}"'],
  ['greedy', ['a://{x}', 5], 'template 1 must be a string, but is 5'],
  ['matchUri', 'a://{x}', 'the result must be an object with `uriTemplate` and `variables`, or null, but is "a://{x}"'],
  ['matchUri', false, 'the result must be an object with `uriTemplate` and `variables`, or null, but is false'],
  ['matchUri', { template: 'a://{x}' }, 'the result has the unknown property `template`: did you mean `uriTemplate`?'],
  ['matchUri', { variables: [] }, '`uriTemplate` must be a string, but is undefined'],
  ['matchUri', { uriTemplate: 'a://{x}' }, '`variables` must be an array, but is undefined'],
  ['matchUri', { uriTemplate: 'a://{x}', variables: { x: '1' } }, '`variables` must be an array, but is { x }'],
  ['matchUri', { uriTemplate: 'a://{x}', variables: [['x', 1]] }, '`variables[0][1]` must be a string, but is 1'],
  ['matchUri', { uriTemplate: 'a://{x}', variables: ['x'] }, '`variables[0]` must be an object with `name` and `value`, or an array of two strings, but is "x"'],
  ['matchUri', { uriTemplate: 'a://{x}', variables: [['x']] }, '`variables[0]` must be an array of two strings, but is an array of 1 item'],
  ['matchUri', { uriTemplate: 'a://{x}', variables: [{ name: 'x', keys: 'k', value: '1' }] }, '`variables[0]` has the unknown property `keys`: did you mean `key`?'],
  ['matchUri', { uriTemplate: 'a://{x}', variables: [{ name: 'x', key: 1, value: '1' }] }, '`variables[0].key` must be a string, but is 1'],
];

for (const [name, result, message] of MISTAKES) {
  test(`${name}: ${message}`, () => {
    const text = `${name} returned a wrong value: ${message}`;
    assert.deepEqual(run(name, () => result), { error: { tag: 'failed', val: text }, logged: [text] });
  });
}

for (const [name, result, message] of LOGGED_MISTAKES) {
  test(`${name}: ${message}`, () => {
    const text = `${name} returned a wrong value: ${message}`;
    const expected = name === 'matchUri' ? null : { summary: `describe failed: ${text}`, claims: [] };
    assert.deepEqual(run(name, () => result), { result: expected, logged: [text] });
  });
}

test('a message names the place where the function is defined', () => {
  // As in QuickJS.
  const list = Object.assign(() => [{ uri: 5 }], { fileName: '/src/provider.js', lineNumber: 12 });
  const { error } = run('list', list);
  assert.equal(error.val, 'list returned a wrong value: `uri` of entry 0 must be a string, but is 5 (src/provider.js:12)');
});

test('an exception becomes a failure with its type, its message and its place', () => {
  const here = import.meta.url.replace('file:///', '');
  const check = (thrown, stack, expected) => {
    Object.assign(thrown, { stack });
    const { error, logged } = run('read', () => {
      throw thrown;
    });
    const log = `uncaught exception in read: ${expected.replace(/ \([^)]*\)$/, '')}\n${stack}`;
    assert.deepEqual([error, logged], [{ tag: 'failed', val: expected }, [log]]);
  };
  const inSdk = new URL('../src/utf8.js', import.meta.url);
  check(new RangeError('x'), `RangeError: x\n    at decode (${inSdk}:3:4)\n    at read (${import.meta.url}:5:6)`, `RangeError: x (${here}:5)`);
  check(new Error(''), '    at <input>:1:2\n    at parse (native)\n    at <anonymous> (/provider.js:7:8)\n', 'Error (provider.js:7)');
  check(new Error('x'), 'load@/provider.js:9:10\n', 'Error: x (provider.js:9)');
  check(new Error('x'), '', 'Error: x');
});

test('an exception of a getter keeps its message', () => {
  const { error } = run('list', () => [
    {
      get uri() {
        throw new RangeError('no uri');
      },
    },
  ]);
  assert.match(error.val, /^RangeError: no uri \(.*check\.test\.js:\d+\)$/);
});

test('errors without a text are named in the summary of a description', () => {
  const { result } = run('describe', () => {
    throw new NotFound();
  });
  assert.deepEqual(result, { summary: 'describe failed: not-found', claims: [] });
});

test('the list of templates reports a description that failed', () => {
  const { resourceProvider } = createExports({ describe: () => ({ title: 5 }), read() {} }, () => {});
  const failed = (cursor) => {
    try {
      return resourceProvider.listTemplates(cursor);
    } catch (thrown) {
      return thrown;
    }
  };
  assert.match(failed().val, /^describe failed: describe returned a wrong value: `title` must be a string/);
  assert.deepEqual(failed('next'), { templates: [] });
});

test('correct values pass unchanged', () => {
  const check = (name, result, expected = result) => {
    assert.deepEqual(run(name, () => result), { result: expected, logged: [] });
  };
  const none = { title: null, description: null, mimeType: null, details: null };
  const entry = { uri: 'a://x', name: '', ...none, size: null, version: null };
  const metadata = [['a', '1'], ['a', '2']];
  const icons = [{ src: 'a:b', mimeType: 'image/png', sizes: ['any'], theme: 'dark' }];
  const details = { kind: 'file', audience: ['user', 'assistant'], priority: 0.5, lastModified: '', icons, metadata };
  const whole = { uri: 'a://y', name: 'y', title: 't', description: 'd', mimeType: 'm', size: 2 ** 53 - 1, version: '', details };
  const freshness = { ttlMs: 0, scope: 'caller' };
  check('list', { entries: [entry, whole], nextCursor: 'a://y', freshness });
  check('list', [], { entries: [], nextCursor: null, freshness: null });
  const { size, version, uri, ...listed } = whole;
  check('templates', { templates: [{ uriTemplate: 'a://{x}', ...listed }], nextCursor: null, freshness: null });
  check('templates', [], { templates: [], nextCursor: null, freshness: null });
  const text = { uri: 'a://x', mimeType: 'm', body: 'text', metadata };
  const converted = { ...text, body: { tag: 'text', val: 'text' } };
  const blob = { uri: null, mimeType: null, body: { tag: 'blob', val: Uint8Array.of(1) }, metadata: [] };
  check('read', { contents: [text], version: '3', freshness }, { contents: [converted], version: '3', freshness });
  check('read', { ...text, version: '3', freshness }, { contents: [converted], version: '3', freshness });
  check('read', [text, { body: Uint8Array.of(1) }], { contents: [converted, blob], version: null, freshness: null });
  check('read', { body: Uint8Array.of(1) }, { contents: [blob], version: null, freshness: null });
  check('read', { contents: text }, { contents: [converted], version: null, freshness: null });
  check('complete', { values: ['a'], total: 5, more: true });
  check('complete', {}, { values: [], total: null, more: false });
  check('versions', ['1', null]);
  check('versions', ['1', undefined], ['1', null]);
  const description = { title: 't', version: 'v', summary: 's', instructions: 'i', claims: ['a://'] };
  check('describe', description);
  check('greedy', ['a://{x}'], { claims: ['a://'] });
  const variables = [{ name: 'x', key: null, value: '1' }, { name: 'x', key: 'k', value: '2' }];
  check('matchUri', { uriTemplate: 'a://{x}', variables });
  check('matchUri', { uriTemplate: 'a://{x}', variables: [['x', '1'], variables[1]] }, { uriTemplate: 'a://{x}', variables });
  check('matchUri', undefined, null);
});

test('values are converted for the bindings', () => {
  const listed = (more) => run('list', () => [{ uri: 'a://x', name: 'x', ...more }]).result.entries[0];
  assert.equal(listed({ size: 5n }).size, 5);
  assert.equal(listed({ name: 'caf\udce9' }).name, 'caf\ufffd');
  const defaults = { kind: null, audience: [], priority: null, lastModified: null, icons: [], metadata: [] };
  assert.deepEqual(listed({ details: {} }).details, defaults);
  const metadata = JSON.parse('{ "__proto__": "1", "caf\\udce9": "2" }');
  assert.deepEqual(listed({ details: { metadata } }).details.metadata, [['__proto__', '1'], ['caf\ufffd', '2']]);
  class Row {
    get uri() {
      return 'a://x';
    }
    name = 'x';
  }
  assert.equal(run('list', () => [new Row()]).result.entries[0].uri, 'a://x');
});

test('a provider without a function gets defaults', () => {
  const { resourceProvider, completionProvider, versionProvider } = createExports({ read: () => null });
  assert.deepEqual(resourceProvider.describe(), { claims: [] });
  assert.deepEqual(resourceProvider.listResources({}), { entries: [] });
  assert.deepEqual(resourceProvider.listTemplates(null), { templates: [] });
  assert.equal(resourceProvider.matchUri('a://x'), null);
  assert.deepEqual(completionProvider.complete({}), { values: [], more: false });
  assert.deepEqual(versionProvider.versions(['a://x']), [null]);
});

class Misspelt {
  read() {}
  lists() {}
}
class Shared {
  templates = null;
  template() {}
}
class Derived extends Shared {
  read() {}
}
const HINT = ' (begin the name with `_` if it is not meant for Larder)';
const located = Object.assign(() => [], { fileName: '/provider.js', lineNumber: 3 });

// An object that is not a provider, and the message.
const WRONG_PROVIDERS = [
  [undefined, '`defineProvider` needs an object, not undefined'],
  [null, '`defineProvider` needs an object, not null'],
  ['x', '`defineProvider` needs an object, not "x"'],
  [{}, 'a provider needs at least `read(request)`'],
  [{ list: () => [] }, 'a provider needs at least `read(request)`'],
  [{ read() {}, lists: () => [] }, `the provider has the unknown property \`lists\`: did you mean \`list\`?${HINT}`],
  [{ read() {}, lists: located }, `the provider has the unknown property \`lists\`: did you mean \`list\`?${HINT} (provider.js:3)`],
  [{ reads() {} }, `the provider has the unknown property \`reads\`: did you mean \`read\`?${HINT}`],
  [{ raed() {} }, `the provider has the unknown property \`raed\`: did you mean \`read\`?${HINT}`],
  [{ read() {}, match_uri() {} }, `the provider has the unknown property \`match_uri\`: did you mean \`matchUri\`?${HINT}`],
  [{ read() {}, completes() {} }, `the provider has the unknown property \`completes\`: did you mean \`complete\`?${HINT}`],
  [{ read() {}, version: '1' }, `the provider has the unknown property \`version\`: did you mean \`versions\`?${HINT}`],
  [{ readResource() {} }, `the provider has the unknown property \`readResource\`: did you mean \`read\`?${HINT}`],
  [{ read() {}, cache: 5 }, `the provider has the unknown property \`cache\`: known are ${KNOWN}${HINT}`],
  [{ read() {}, toString() {} }, `the provider has the unknown property \`toString\`: known are ${KNOWN}${HINT}`],
  [{ read() {}, list: [] }, '`list` of the provider must be a function, but is an array of 0 items'],
  [{ read() {}, tools: {} }, "the provider has the property `tools`, but only the `defineProvider` of 'larder-provider/interactive' accepts it"],
  [{ read: 'x' }, '`read` of the provider must be a function, but is "x"'],
  [new Misspelt(), `the provider has the unknown property \`lists\`: did you mean \`list\`?${HINT}`],
  [new Derived(), `the provider has the unknown property \`template\`: did you mean \`templates\`?${HINT}`],
];

for (const [provider, message] of WRONG_PROVIDERS) {
  test(message, () => assert.throws(() => createExports(provider), new TypeError(message)));
}

test('a provider may have functions and properties of its own', () => {
  class Files {
    cache = new Map();
    list() {}
    read() {}
    lists() {}
    load() {}
    search() {}
    tools = [];
    _templates() {}
  }
  const inherits = Object.create({ read() {} });
  const providers = [new Files(), inherits, { read() {}, _list: 5, list: undefined, complete: null }];
  for (const provider of providers) createExports(provider);
});
