// Native tests of tools and prompts: one row for each mistake, with the exact message, and the converted values.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Invalid } from '../src/errors.js';
import { createExports } from '../src/interactive/exports.js';
import { elicit, elicitUrl, input, roots, sample } from '../src/interactive/input.js';
import { APP_PAGE, appPage } from '../src/interactive/tools.js';
import { encode } from '../src/utf8.js';

const located = (implementation) => Object.assign(implementation, { fileName: '/src/provider.js', lineNumber: 12 });

const exportsOf = (provider, logged = []) => createExports({ read: () => null, ...provider }, (text) => logged.push(text));

// Returns the result, or the error of the contract.
function attempt(run) {
  try {
    return run();
  } catch (thrown) {
    return thrown;
  }
}

const tool = (more) => ({ tools: { add: { call: located(() => ''), ...more } } });
const prompt = (more) => ({ prompts: { greet: { get: located(() => ''), ...more } } });
const cyclic = { a: {} };
cyclic.a.b = cyclic;

// A provider with a wrong definition, and the message.
const WRONG_DEFINITIONS = [
  [{ tools: [] }, '`tools` of the provider must be an object with tools, but is an array of 0 items'],
  [{ prompts: 'x' }, '`prompts` of the provider must be an object with prompts, but is "x"'],
  [{ settings: () => ({}) }, '`settings` of the provider must be an object with settings, but is a function'],
  [{ search: 'x' }, '`search` of the provider must be a function, but is "x"'],
  [{ tool: {} }, 'the provider has the unknown property `tool`: did you mean `tools`? (begin the name with `_` if it is not meant for Larder)'],
  [{ tools: { 'add.one': located(() => '') } }, 'tool `add.one` must have a name of 1 to 64 letters, digits, `_` or `-`'],
  [{ tools: { add: null } }, 'tool `add` must be an object with `call`, but is null'],
  [{ tools: { add: () => '' } }, 'tool `add` must be an object with `call`, but is a function'],
  [{ tools: { add: {} } }, '`call` of tool `add` must be a function, but is undefined'],
  [{ tools: { add: { call: 5 } } }, '`call` of tool `add` must be a function, but is 5'],
  [tool({ desciption: '' }), 'tool `add` has the unknown property `desciption`: did you mean `description`? (src/provider.js:12)'],
  [tool({ inputSchema: {} }), 'tool `add` has the unknown property `inputSchema`: did you mean `input`? (src/provider.js:12)'],
  [tool({ title: 5 }), '`title` of tool `add` must be a string, but is 5 (src/provider.js:12)'],
  [tool({ readOnly: 'yes' }), '`readOnly` of tool `add` must be true or false, but is "yes" (src/provider.js:12)'],
  [tool({ icons: [{}] }), '`icons[0].src` of tool `add` must be a string, but is undefined (src/provider.js:12)'],
  [tool({ metadata: { a: 1 } }), '`metadata.a` of tool `add` must be a string, but is 1 (src/provider.js:12)'],
  [tool({ appPage: 5 }), '`appPage` of tool `add` must be a string, but is 5 (src/provider.js:12)'],
  [tool({ forAppsOnly: ['app'] }), '`forAppsOnly` of tool `add` must be true or false, but is an array of 1 item (src/provider.js:12)'],
  [tool({ input: [] }), '`input` of tool `add` must be a JSON Schema, or an object with the schemas of properties, but is an array of 0 items (src/provider.js:12)'],
  [tool({ input: { from: 'string' } }), '`input.from` of tool `add` must be a JSON Schema, but is "string" (src/provider.js:12)'],
  [tool({ input: { from: { type: 'text' } } }), '`input.from.type` of tool `add` must be "string" or "number" or "integer" or "boolean" or "object" or "array" or "null", but is "text" (src/provider.js:12)'],
  [tool({ input: { from: { type: String } } }), '`input.from.type` of tool `add` must be "string" or "number" or "integer" or "boolean" or "object" or "array" or "null", but is a function (src/provider.js:12)'],
  [tool({ input: { from: { type: 'string', optional: 1 } } }), '`input.from.optional` of tool `add` must be true or false, but is 1 (src/provider.js:12)'],
  [tool({ input: { from: { type: 'string', required: true } } }), '`input.from.required` of tool `add` must not be true or false: properties are required unless `optional` is true (src/provider.js:12)'],
  [tool({ input: { from: { pattern: /a/ } } }), '`input.from.pattern` of tool `add` must be a JSON value, but is a RegExp (src/provider.js:12)'],
  [tool({ input: { type: 'string' } }), '`input.type` of tool `add` must be "object", but is "string" (src/provider.js:12)'],
  [tool({ input: { $ref: '#/$defs/a' } }), '`input.type` of tool `add` must be "object", but is undefined (src/provider.js:12)'],
  [tool({ output: { type: 'object', properties: { a: { minimum: 1n } } } }), '`output.properties.a.minimum` of tool `add` must be a JSON value, but is 1n (src/provider.js:12)'],
  [{ prompts: { greet: 'x' } }, 'prompt `greet` must be an object with `get`, but is "x"'],
  [{ prompts: { greet: {} } }, '`get` of prompt `greet` must be a function, but is undefined'],
  [prompt({ args: {} }), 'prompt `greet` has the unknown property `args`: known are `title`, `description`, `arguments`, `icons`, `metadata`, `get` (src/provider.js:12)'],
  [prompt({ arguments: ['name'] }), '`arguments` of prompt `greet` must be an object with arguments, but is an array of 1 item (src/provider.js:12)'],
  [prompt({ arguments: { name: 'x' } }), '`arguments.name` of prompt `greet` must be an object, but is "x" (src/provider.js:12)'],
  [prompt({ arguments: { name: { require: true } } }), '`arguments.name` of prompt `greet` has the unknown property `require`: did you mean `required`? (src/provider.js:12)'],
  [prompt({ arguments: { name: { required: 'x' } } }), '`arguments.name.required` of prompt `greet` must be true or false, but is "x" (src/provider.js:12)'],
  [prompt({ arguments: { name: { complete: ['x'] } } }), '`arguments.name.complete` of prompt `greet` must be a function, but is an array of 1 item (src/provider.js:12)'],
  [{ settings: { depth: 'x' } }, 'setting `depth` must be an object with `type` and `description`, but is "x"'],
  [{ settings: { depth: { kind: 'number', description: '' } } }, 'setting `depth` has the unknown property `kind`: known are `type`, `description`, `default`, `required`, `secret`'],
  [{ settings: { depth: { type: 'string', description: '' } } }, '`type` of setting `depth` must be "text" or "number" or "boolean" or "size" or "duration", but is "string"'],
  [{ settings: { depth: { type: 'number' } } }, '`description` of setting `depth` must be a string, but is undefined'],
  [{ settings: { depth: { type: 'number', description: '', default: 'x' } } }, '`default` of setting `depth` must be a number, such as "5", but is "x"'],
  [{ settings: { depth: { type: 'number', description: '', default: true } } }, '`default` of setting `depth` must be a finite number, but is true'],
  [{ settings: { depth: { type: 'text', description: '', default: 5 } } }, '`default` of setting `depth` must be a string, but is 5'],
  [{ settings: { wait: { type: 'duration', description: '', default: 5 } } }, '`default` of setting `wait` must be a string, but is 5'],
  [{ settings: { wait: { type: 'duration', description: '', default: '5' } } }, '`default` of setting `wait` must be a duration, such as "10s" or "1m 30s", but is "5"'],
  [{ settings: { depth: { type: 'text', description: '', secret: 1 } } }, '`secret` of setting `depth` must be true or false, but is 1'],
];

for (const [provider, message] of WRONG_DEFINITIONS) {
  test(message, () => assert.throws(() => exportsOf(provider), new TypeError(message)));
}

const TOOL_RESULT = 'a string, a block, an array of blocks, or an object with `content` or `structured`';
const BLOCK = 'a string or an object with `text`, `image`, `audio`, `link` or `embedded`';

// The result of a tool, and the message.
const WRONG_RESULTS = [
  [undefined, `the result must be ${TOOL_RESULT}, but is undefined; is a \`return\` missing?`],
  [null, `the result must be ${TOOL_RESULT}, but is null`],
  [5, `the result must be ${TOOL_RESULT}, but is 5`],
  [Promise.resolve(''), 'the result must not be a Promise: a function of a provider is never `async`'],
  [{ changes: [] }, 'the result has the unknown property `changes`: known are `structured`, `content`, `isError`, `metadata`, `text`, `image`, `audio`, `link`, `embedded`'],
  [{ contents: [] }, 'the result has the unknown property `contents`: did you mean `content`?'],
  [{ txt: '' }, 'the result has the unknown property `txt`: did you mean `text`?'],
  [{ type: 'text', text: '' }, 'the result has the unknown property `type`: known are `text`, `annotations`, `metadata`'],
  [{ text: 5 }, '`text` must be a string, but is 5'],
  [['', 5], `block 1 must be ${BLOCK}, but is 5`],
  [[{}], `block 0 must be ${BLOCK}, but is {}`],
  [[{ mimeType: 'a/b' }], `block 0 must be ${BLOCK}, but is { mimeType }`],
  [[{ imag: '' }], 'block 0 has the unknown property `imag`: did you mean `image`?'],
  [[{ image: 'x', mimeType: 'a/b' }], '`image` of block 0 must be a Uint8Array, but is "x"'],
  [[{ audio: Uint8Array.of(1) }], '`mimeType` of block 0 must be a string, but is undefined'],
  [[{ link: { uri: 'a:b' } }], '`link.name` of block 0 must be a string, but is undefined'],
  [[{ link: { uri: 'a:b', name: '' }, annotations: {} }], 'block 0 has the unknown property `annotations`: known are `link`, `metadata`'],
  [[{ embedded: { uri: 'a:b', text: '' } }], '`embedded` of block 0 has the unknown property `text`: known are `uri`, `mimeType`, `body`, `metadata`'],
  [[{ embedded: { uri: 'a:b', body: 5 } }], '`embedded.body` of block 0 must be a string or a Uint8Array, but is 5'],
  [{ text: '', annotations: { audience: ['all'] } }, '`annotations.audience[0]` must be "user" or "assistant", but is "all"'],
  [{ content: 5 }, '`content` must be an array, but is 5'],
  [{ content: [5] }, `block 0 must be ${BLOCK}, but is 5`],
  [{ isError: 1 }, '`isError` must be true or false, but is 1'],
  [{ structured: new Map() }, '`structured` must be a JSON value, but is a Map'],
  [{ structured: { a: [1, NaN] } }, '`structured.a[1]` must be a JSON value, but is NaN'],
  [{ structured: [undefined] }, '`structured[0]` must be a JSON value, but is undefined'],
  [{ structured: { toJSON() {} } }, '`structured` must be a JSON value, but is { toJSON }'],
  [{ structured: cyclic }, '`structured.a.b` must not contain itself'],
];

const callOf = (more) => ({ name: 'add', arguments: '{}', input: null, ...more });

for (const [result, message] of WRONG_RESULTS) {
  test(`a tool: ${message}`, () => {
    const logged = [];
    const { toolProvider } = exportsOf(tool({ call: located(() => result) }), logged);
    const text = `tool \`add\` returned a wrong value: ${message} (src/provider.js:12)`;
    assert.deepEqual(attempt(() => toolProvider.callTool(callOf())), { tag: 'failed', val: text });
    assert.deepEqual(logged, [text]);
  });
}

test('a tool with an output schema needs a structured result', () => {
  const run = (result) => attempt(() => exportsOf(tool({ output: {}, call: () => result })).toolProvider.callTool(callOf()));
  const text = 'tool `add` returned a wrong value: the result must have `structured`, because the tool has an `output`';
  assert.deepEqual(run('x'), { tag: 'failed', val: text });
  assert.equal(run({ content: 'x', isError: true }).val.isError, true);
  assert.equal(run({ structured: 5 }).val.structured, '5');
});

// The result of a prompt, and the message.
const WRONG_PROMPTS = [
  [undefined, 'the result must be a string, an array of messages, or an object with `messages`, but is undefined; is a `return` missing?'],
  [{ message: [] }, 'the result has the unknown property `message`: did you mean `messages`?'],
  [{ messages: [], description: 5 }, '`description` must be a string, but is 5'],
  [['x', 5], 'message 1 must be a block, or an object with `content`, but is 5'],
  [[{ role: 'system', content: '' }], '`role` of message 0 must be "user" or "assistant", but is "system"'],
  [[{ role: 'user', content: 5 }], `\`content\` of message 0 must be ${BLOCK}, but is 5`],
  [[{ role: 'user', text: '' }], 'message 0 has the unknown property `role`: known are `text`, `annotations`, `metadata`'],
  [{ text: 5 }, '`text` must be a string, but is 5'],
  [{ messages: { text: 5 } }, '`messages.text` must be a string, but is 5'],
  [[{ content: { text: 5 } }], '`content.text` of message 0 must be a string, but is 5'],
];

const requestOf = (more) => ({ name: 'greet', arguments: [], input: null, ...more });

for (const [result, message] of WRONG_PROMPTS) {
  test(`a prompt: ${message}`, () => {
    const { promptProvider } = exportsOf(prompt({ get: located(() => result) }));
    const text = `prompt \`greet\` returned a wrong value: ${message} (src/provider.js:12)`;
    assert.deepEqual(attempt(() => promptProvider.getPrompt(requestOf())), { tag: 'failed', val: text });
  });
}

// The result of a search, and the message.
const WRONG_HITS = [
  [undefined, 'the result must be an array or an object with `hits`, but is undefined; is a `return` missing?'],
  [[{ uri: 'a://x', name: 'x' }], 'hit 0 has the unknown property `uri`: known are `entry`, `excerpt`'],
  [[{}], '`entry` of hit 0 must be an object with `uri` and `name`, but is undefined'],
  [[{ entry: { uri: 'a://x', name: 5 } }], '`entry.name` of hit 0 must be a string, but is 5'],
  [{ hits: [], freshness: 5 }, '`freshness` must be an object with `ttlMs`, but is 5'],
];

for (const [result, message] of WRONG_HITS) {
  test(`a search: ${message}`, () => {
    const { searchProvider } = exportsOf({ search: located(() => result) });
    const text = `search returned a wrong value: ${message} (src/provider.js:12)`;
    assert.deepEqual(attempt(() => searchProvider.search({ text: '', limit: 5 })), { tag: 'failed', val: text });
  });
}

test('hits are converted', () => {
  const check = (result, expected) => {
    assert.deepEqual(exportsOf({ search: () => result }).searchProvider.search({}), { freshness: null, ...expected });
  };
  const none = { title: null, description: null, mimeType: null, size: null, version: null, details: null };
  const entry = { uri: 'a:b', name: 'b' };
  check([{ entry }, { entry, excerpt: 'x' }], { hits: [{ entry: { ...entry, ...none }, excerpt: null }, { entry: { ...entry, ...none }, excerpt: 'x' }] });
  check({ hits: [], freshness: { ttlMs: 5 } }, { hits: [], freshness: { ttlMs: 5, scope: 'everyone' } });
});

test('an instance of a class may be a provider with tools', () => {
  class Adder {
    read() {}
    tools() {
      return { add: { call: () => this.result } };
    }
    result = '5';
    setting() {}
  }
  const { toolProvider } = createExports(new Adder());
  assert.equal(toolProvider.callTool(callOf()).val.content[0].value.val, '5');
});

// A wrong call of a function for input, and the message.
const WRONG_INPUT = [
  [() => input(), 'the requests must be an object with requests, but is undefined'],
  [() => input([]), 'the requests must be an object with requests, but is an array of 0 items'],
  [() => input({ name: 'x' }), '`name` of the requests must be a request, such as `elicit({ … })`, but is "x"'],
  [() => input({ name: { method: 'a/b', params: [] } }), '`name.params` of the requests must be an object, but is an array of 0 items'],
  [() => input({}, { stat: '' }), 'the options has the unknown property `stat`: did you mean `state`?'],
  [() => input({}, { state: 5 }), '`state` of the options must be a Uint8Array, but is 5'],
  [() => elicit('x'), 'the form must be an object with `message` and `schema`, but is "x"'],
  [() => elicit({ message: 'x' }), '`schema` of the form must be a JSON Schema, or an object with the schemas of properties, but is undefined'],
  [() => elicit({ message: 'x', schema: { a: { type: 'x' } } }), '`schema.a.type` of the form must be "string" or "number" or "integer" or "boolean" or "object" or "array" or "null", but is "x"'],
  [() => elicitUrl({ message: 'x' }), '`url` of the page must be a string, but is undefined'],
];

for (const [run, message] of WRONG_INPUT) {
  test(`input: ${message}`, () => assert.throws(run, new TypeError(message)));
}

test('tools are listed', () => {
  const icons = [{ src: 'a:b', mimeType: null, sizes: [], theme: null }];
  const hints = { readOnly: true, destructive: false, idempotent: null, openWorld: null, longRunning: null };
  const full = { title: 't', description: 'd', readOnly: true, destructive: false, icons: [{ src: 'a:b' }], metadata: { a: '1' } };
  const schemas = { input: { a: { type: 'string', optional: true }, b: { enum: [1] } }, output: { type: 'array' } };
  const provider = { tools: { add: { ...full, ...schemas, call() {} }, remove: { call() {} } } };
  const expected = {
    name: 'add',
    title: 't',
    description: 'd',
    inputSchema: '{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":[1]}},"required":["b"]}',
    outputSchema: '{"type":"array"}',
    hints,
    icons,
    metadata: [['a', '1']],
  };
  const { tools } = exportsOf(provider).toolProvider.listTools(null);
  assert.deepEqual(tools[0], expected);
  assert.equal(tools[1].inputSchema, '{"type":"object","properties":{}}');
  assert.deepEqual([tools[1].name, tools[1].outputSchema], ['remove', null]);
});

test('tools have the metadata of apps', () => {
  const check = (definition, expected) => {
    const [{ metadata }] = exportsOf(tool(definition)).toolProvider.listTools(null).tools;
    assert.deepEqual(metadata, expected);
  };
  const uri = 'ui://weather/forecast.html';
  check({ appPage: uri }, [['ui', '{"resourceUri":"ui://weather/forecast.html"}']]);
  check({ forAppsOnly: true, metadata: { a: '1' } }, [['a', '1'], ['ui', '{"visibility":["app"]}']]);
  check({ appPage: uri, forAppsOnly: true }, [['ui', '{"resourceUri":"ui://weather/forecast.html","visibility":["app"]}']]);
  check({ forAppsOnly: false }, []);
});

test('a page requests what it uses', () => {
  const { metadata, ...content } = appPage({
    html: '<!doctype html>',
    connectsTo: ['https://a.example', 'wss://b.example'],
    loadsFrom: ['https://c.example'],
    frames: ['https://d.example'],
    permissions: ['camera', 'clipboardWrite'],
    prefersBorder: false,
  });
  assert.deepEqual(content, { body: '<!doctype html>', mimeType: APP_PAGE });
  const [[key, json], ...others] = metadata;
  assert.deepEqual([key, others], ['ui', []]);
  assert.deepEqual(JSON.parse(json), {
    csp: {
      connectDomains: ['https://a.example', 'wss://b.example'],
      resourceDomains: ['https://c.example'],
      frameDomains: ['https://d.example'],
    },
    permissions: { camera: {}, clipboardWrite: {} },
    prefersBorder: false,
  });
});

test('a page that uses nothing has no metadata', () => {
  const expected = { body: 'x', mimeType: 'text/html;profile=mcp-app', metadata: [] };
  assert.deepEqual(appPage({ html: 'x' }), expected);
  assert.deepEqual(appPage({ html: 'x', connectsTo: [], permissions: [] }), expected);
});

test('a page is the content of a read', () => {
  const read = () => ({ contents: appPage({ html: 'x', connectsTo: ['https://a.example'] }), version: '1' });
  const { contents } = exportsOf({ read }).resourceProvider.readResource({ uri: 'ui://a' });
  const metadata = [['ui', '{"csp":{"connectDomains":["https://a.example"]}}']];
  assert.deepEqual(contents, [{ uri: null, mimeType: APP_PAGE, body: { tag: 'text', val: 'x' }, metadata }]);
});

// A wrong page, and the message.
const WRONG_PAGES = [
  ['x', 'the page must be an object with `html`, but is "x"'],
  [{ html: Uint8Array.of(1) }, '`html` of the page must be a string, but is a Uint8Array of 1 byte'],
  [{ html: '', connectTo: [] }, 'the page has the unknown property `connectTo`: did you mean `connectsTo`?'],
  [{ html: '', connectsTo: 'https://a.example' }, '`connectsTo` of the page must be an array, but is "https://a.example"'],
  [{ html: '', loadsFrom: [5] }, '`loadsFrom[0]` of the page must be a string, but is 5'],
  [{ html: '', frames: {} }, '`frames` of the page must be an array, but is {}'],
  [{ html: '', permissions: ['clipboard-write'] }, '`permissions[0]` of the page must be "camera" or "microphone" or "geolocation" or "clipboardWrite", but is "clipboard-write"'],
  [{ html: '', prefersBorder: 1 }, '`prefersBorder` of the page must be true or false, but is 1'],
];

for (const [given, message] of WRONG_PAGES) {
  test(`a page of an app: ${message}`, () => assert.throws(() => appPage(given), new TypeError(message)));
}

test('results of tools are converted', () => {
  const check = (result, expected) => {
    const complete = { content: [], structured: null, isError: false, metadata: [], ...expected };
    const { toolProvider } = exportsOf(tool({ call: () => result }));
    assert.deepEqual(toolProvider.callTool(callOf()), { tag: 'complete', val: complete });
  };
  const block = (tag, val, more) => ({ value: { tag, val }, annotations: null, metadata: [], ...more });
  check('a', { content: [block('text', 'a')] });
  check('', { content: [block('text', '')] });
  check(['a', { text: 'caf\udce9' }], { content: [block('text', 'a'), block('text', 'caf\ufffd')] });
  check({ structured: { a: 1, b: undefined } }, { structured: '{"a":1}', content: [block('text', '{"a":1}')] });
  check({ structured: null }, { structured: 'null', content: [block('text', 'null')] });
  check({ structured: [], content: [] }, { structured: '[]' });
  check({ content: 'a', isError: true, metadata: { k: '1' } }, { content: [block('text', 'a')], isError: true, metadata: [['k', '1']] });
  const data = Uint8Array.of(1);
  check({ image: data, mimeType: 'a/b' }, { content: [block('image', { mimeType: 'a/b', data })] });
  check([{ audio: data, mimeType: 'a/b' }], { content: [block('audio', { mimeType: 'a/b', data })] });
  const annotations = { audience: ['user'], priority: 1, lastModified: null };
  check({ text: 'a', annotations: { audience: ['user'], priority: 1 } }, { content: [block('text', 'a', { annotations })] });
  const none = { title: null, description: null, mimeType: null, size: null, version: null, details: null };
  check({ link: { uri: 'a:b', name: 'b' } }, { content: [block('link', { uri: 'a:b', name: 'b', ...none })] });
  const embedded = { uri: 'a:b', mimeType: null, body: { tag: 'text', val: 'x' }, metadata: [] };
  check({ embedded: { uri: 'a:b', body: 'x' } }, { content: [block('embedded', embedded)] });
});

test('a tool gets its arguments and the input of the client', () => {
  const call = ({ a }, context) => JSON.stringify([a, context.input ?? null]);
  const { toolProvider } = exportsOf(tool({ call }));
  const text = (more) => toolProvider.callTool(callOf(more)).val.content[0].value.val;
  assert.equal(text({ arguments: '{"a":[1]}' }), '[[1],null]');
  assert.equal(text({ input: { responses: [], state: null } }), '[null,{"answers":{}}]');
});

test('a tool asks for input, and is called again with the answers', () => {
  const call = (args, { input: given }) => {
    if (!given) return input({ name: elicit({ message: 'Who?', schema: { name: { type: 'string' } } }) }, { state: 'ä' });
    return { structured: [given.state, given.accepted('name') ?? null, given.accepted('constructor') ?? null, given.answers.name] };
  };
  const { toolProvider } = exportsOf(tool({ call }));
  const params = '{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}';
  const required = { requests: [{ key: 'name', method: 'elicitation/create', params }], state: encode('ä') };
  assert.deepEqual(toolProvider.callTool(callOf()), { tag: 'input-required', val: required });
  const check = (outcome, accepted, answer) => {
    const given = { responses: [{ key: 'name', outcome }], state: encode('ä') };
    const { structured } = toolProvider.callTool(callOf({ input: given })).val;
    assert.deepEqual(JSON.parse(structured), ['ä', accepted, null, answer]);
  };
  const accept = { action: 'accept', content: { name: 'Ada' } };
  check({ tag: 'ok', val: JSON.stringify(accept) }, { name: 'Ada' }, { result: accept });
  check({ tag: 'ok', val: '{"action":"accept"}' }, {}, { result: { action: 'accept' } });
  check({ tag: 'ok', val: '{"action":"decline"}' }, null, { result: { action: 'decline' } });
  check({ tag: 'ok', val: 'null' }, null, { result: null });
  check({ tag: 'err', val: '{"code":-1}' }, null, { error: { code: -1 } });
});

test('requests for input', () => {
  const check = (request, method, params) => {
    const { requests, state } = input({ key: request }).required;
    assert.deepEqual([requests, state], [[{ key: 'key', method, params }], null]);
  };
  check(roots(), 'roots/list', '{}');
  check(sample({ maxTokens: 5 }), 'sampling/createMessage', '{"maxTokens":5}');
  check(elicitUrl({ message: 'm', url: 'a:b' }), 'elicitation/create', '{"mode":"url","message":"m","url":"a:b"}');
  check(elicitUrl({ message: 'm', url: 'a:b', elicitationId: '7' }), 'elicitation/create', '{"mode":"url","message":"m","url":"a:b","elicitationId":"7"}');
  check({ method: 'a/b', params: {} }, 'a/b', '{}');
  const state = Uint8Array.of(255);
  assert.equal(input({}, { state }).required.state, state);
});

const ARGUMENTS = {
  name: { title: 't', description: 'd', required: true, complete: (prefix, filled) => [prefix, filled.tone] },
  tone: { complete: () => ({ values: ['x'], more: true }) },
  other: {},
  wrong: { complete: located(() => [5]) },
};

test('prompts are listed', () => {
  const { promptProvider } = exportsOf(prompt({ title: 'T', arguments: ARGUMENTS }));
  const { prompts } = promptProvider.listPrompts(null);
  const none = { title: null, description: null, required: false };
  const first = { name: 'name', title: 't', description: 'd', required: true };
  const rest = ['tone', 'other', 'wrong'].map((name) => ({ name, ...none }));
  const expected = { name: 'greet', title: 'T', description: null, arguments: [first, ...rest], icons: [], metadata: [] };
  assert.deepEqual(prompts, [expected]);
});

test('results of prompts are converted', () => {
  const check = (result, expected) => {
    const complete = { description: null, messages: [], metadata: [], ...expected };
    const { promptProvider } = exportsOf(prompt({ get: () => result }));
    assert.deepEqual(promptProvider.getPrompt(requestOf()), { tag: 'complete', val: complete });
  };
  const message = (text, role = 'user') => ({ role, content: { value: { tag: 'text', val: text }, annotations: null, metadata: [] } });
  check('a', { messages: [message('a')] });
  check(['a', { content: 'b' }, { role: 'assistant', content: { text: 'c' } }], { messages: [message('a'), message('b'), message('c', 'assistant')] });
  check({ description: 'd', messages: 'a', metadata: { k: '1' } }, { description: 'd', messages: [message('a')], metadata: [['k', '1']] });
  const { promptProvider } = exportsOf(prompt({ get: () => input({}, { state: 'x' }) }));
  assert.deepEqual(promptProvider.getPrompt(requestOf()), { tag: 'input-required', val: { requests: [], state: encode('x') } });
});

test('a prompt gets its arguments, and required ones must be there', () => {
  const get = (args, { input }) => JSON.stringify([args, input?.state ?? null]);
  const { promptProvider } = exportsOf(prompt({ arguments: ARGUMENTS, get }));
  const run = (args, input = null) => attempt(() => promptProvider.getPrompt(requestOf({ arguments: args, input })));
  assert.deepEqual(run([['tone', 'x']]), { tag: 'invalid', val: '`name` is missing' });
  const given = { responses: [], state: encode('s') };
  assert.equal(run([['name', 'Ada'], ['more', '']], given).val.messages[0].content.value.val, '[{"name":"Ada","more":""},"s"]');
});

test('values of arguments are suggested', () => {
  const { promptProvider } = exportsOf(prompt({ arguments: ARGUMENTS }));
  const run = (argument, more) => {
    return attempt(() => promptProvider.completeArgument({ prompt: 'greet', argument, prefix: 'A', filled: [['tone', 'x']], ...more }));
  };
  assert.deepEqual(run('name'), { values: ['A', 'x'], total: 2, more: false });
  assert.deepEqual(run('tone'), { values: ['x'], total: null, more: true });
  assert.deepEqual(run('other'), { values: [], total: null, more: false });
  assert.deepEqual(run('constructor'), { tag: 'not-found' });
  assert.deepEqual(run('name', { prompt: 'toString' }), { tag: 'not-found' });
  const text = 'argument `wrong` of prompt `greet` returned a wrong value: `[0]` must be a string, but is 5 (src/provider.js:12)';
  assert.deepEqual(run('wrong'), { tag: 'failed', val: text });
});

test('unknown tools and prompts are not found', () => {
  const { toolProvider, promptProvider } = exportsOf({ ...tool(), ...prompt() });
  assert.deepEqual(attempt(() => toolProvider.callTool(callOf({ name: 'constructor' }))), { tag: 'not-found' });
  assert.deepEqual(attempt(() => promptProvider.getPrompt(requestOf({ name: 'x' }))), { tag: 'not-found' });
});

test('exceptions of tools and prompts become errors', () => {
  const fail = (error) => () => {
    throw Object.assign(error, { stack: '' });
  };
  const run = (error) => attempt(() => exportsOf(tool({ call: fail(error) })).toolProvider.callTool(callOf()));
  assert.deepEqual(run(new Invalid('x')), { tag: 'invalid', val: 'x' });
  assert.deepEqual(run(new RangeError('x')), { tag: 'failed', val: 'RangeError: x' });
  const { promptProvider } = exportsOf(prompt({ get: fail(new Error('x')) }));
  assert.deepEqual(attempt(() => promptProvider.getPrompt(requestOf())), { tag: 'failed', val: 'Error: x' });
});

test('a function returns tools that can change', () => {
  let tools = { a: { call: () => 'a' } };
  const { toolProvider } = exportsOf({ tools: located(() => tools) });
  const names = () => toolProvider.listTools(null).tools.map(({ name }) => name);
  assert.deepEqual(names(), ['a']);
  tools = { b: { call: () => 'b' } };
  assert.deepEqual(names(), ['b']);
  assert.equal(toolProvider.callTool(callOf({ name: 'b' })).val.content[0].value.val, 'b');
  tools = { c: { call: 5 } };
  const text = 'tools returned a wrong value: `call` of tool `c` must be a function, but is 5 (src/provider.js:12)';
  assert.deepEqual(attempt(names), { tag: 'failed', val: text });
});

test('a provider without tools, prompts, search and settings has none', () => {
  const { toolProvider, promptProvider, searchProvider, settingsProvider } = exportsOf({});
  assert.deepEqual(toolProvider.listTools(null), { tools: [] });
  assert.deepEqual(promptProvider.listPrompts(null), { prompts: [] });
  assert.deepEqual(searchProvider.search({}), { hits: [] });
  assert.deepEqual(settingsProvider.settings(), []);
});
