// The same for tools, prompts, search and settings.

import {
  APP_PAGE,
  appPage,
  clientLogLevel,
  clientSupports,
  defineProvider,
  elicit,
  elicitUrl,
  input,
  logToClient,
  NotFound,
  prompt,
  promptsChanged,
  roots,
  sample,
  setting,
  tool,
  toolsChanged,
  type AppPage,
  type Block,
  type Content,
  type Context,
  type Hit,
  type InteractiveProvider,
  type PromptResult,
  type Tool,
  type ToolResult,
} from 'larder-provider/interactive';

const read = () => ({ body: 'x' });

const blocks: Block[] = [
  'a text',
  { text: 'x', annotations: { audience: ['user'], priority: 1 }, metadata: { 'example.org/a': '1' } },
  { image: new Uint8Array(1), mimeType: 'image/png' },
  { audio: new Uint8Array(1), mimeType: 'audio/wav' },
  { link: { uri: 'n:1', name: 'one' } },
  { embedded: { uri: 'n:1', body: 'x', mimeType: 'text/plain' } },
];

// The arguments have the types of the schemas.
const add = tool({
  title: 'Add',
  description: 'Adds a note.',
  input: {
    text: { type: 'string', description: 'The text.' },
    count: { type: 'integer', optional: true },
    kind: { enum: ['short', 'long'] },
    tags: { type: 'array', items: { type: 'string' } },
    pinned: { type: 'boolean' },
  },
  output: { id: { type: 'string' } },
  readOnly: false,
  destructive: false,
  idempotent: true,
  openWorld: false,
  longRunning: false,
  call({ text, count, kind, tags, pinned }, context): ToolResult {
    const typed: [string, number | undefined, 'short' | 'long', string[], boolean] = [text, count, kind, tags, pinned];
    if (!context.input) {
      const requests = {
        title: elicit({ message: 'Which title?', schema: { title: { type: 'string' } } }),
        page: elicitUrl({ message: 'Log in', url: 'https://example.org' }),
        text: sample({ messages: [] }),
        folders: roots(),
      };
      return input(requests, { state: new Uint8Array(1) });
    }
    const form = context.input.accepted('title');
    const state: string | undefined = context.input.state;
    const error: unknown = context.input.answers['text']?.error;
    if (!form || error) return { content: 'no', isError: true };
    return { structured: { id: form['title'], state, typed }, content: blocks, metadata: {} };
  },
});

// A complete schema: the arguments are not typed.
const whole = tool({ input: { type: 'object', properties: { a: { type: 'string' } } }, call: (args) => String(args.a) });
const without = tool({ call: (_, { input }) => (input ? 'again' : 'first') });
const plain: Tool = { call: (args, context: Context) => [`${args.anything}`, context.input?.state ?? ''] };

// Tools with the page of an app.
const shown = tool({ appPage: 'ui://weather/forecast.html', call: () => 'x' });
const refresh = tool({ forAppsOnly: true, call: () => 'x' });
const page: AppPage = {
  html: '<!doctype html>',
  connectsTo: ['https://a.example'],
  loadsFrom: ['https://b.example'],
  frames: ['https://c.example'],
  permissions: ['camera', 'microphone', 'geolocation', 'clipboardWrite'],
  prefersBorder: true,
};
const pageContent: Content = appPage(page);
const pageType: 'text/html;profile=mcp-app' = APP_PAGE;
defineProvider({
  tools: { shown, refresh },
  list: () => [{ uri: 'ui://weather/forecast.html', name: 'forecast', mimeType: pageType }],
  read: ({ uri }) => (uri ? appPage({ html: 'x' }) : { contents: pageContent, version: '1' }),
});

const announce = prompt({
  title: 'Announce',
  arguments: {
    version: { title: 'Version', description: 'The version.', required: true, complete: (prefix, filled) => [prefix, filled['tone'] ?? ''] },
    tone: { complete: () => ({ values: ['formal'], total: 1 }) },
  },
  get({ version, tone }): PromptResult {
    const typed: [string, string | undefined] = [version, tone];
    return { description: 'd', messages: [typed.join(), { role: 'assistant', content: { text: 'x' } }], metadata: {} };
  },
});

const hit: Hit = { entry: { uri: 'n:1', name: 'one' }, excerpt: 'x' };

export const provider: InteractiveProvider = {
  read,
  settings: {
    name: { type: 'text', description: 'd', default: 'x' },
    depth: { type: 'number', description: 'd', default: 5, required: true },
    on: { type: 'boolean', description: 'd', default: true },
    size: { type: 'size', description: 'd', default: '64MiB', secret: true },
    wait: { type: 'duration', description: 'd' },
  },
  tools: { add, whole, without, plain },
  prompts: () => ({ announce, short: { get: () => 'x' }, asks: { get: () => input({ a: roots() }) } }),
  search: ({ text, limit, uriPrefix, kind }) => (limit > text.length ? [hit] : { hits: [hit], freshness: { ttlMs: Number(uriPrefix ?? kind) } }),
};
export const {
  resourceProvider,
  completionProvider,
  versionProvider,
  toolProvider,
  promptProvider,
  searchProvider,
  settingsProvider,
} = defineProvider(provider);

const depth: number = setting('depth', 5);
const wait: number | undefined = setting<number>('wait');
const on: boolean | undefined = setting<boolean>('on');
const name: string | undefined = setting('name');
if (clientSupports('/elicitation/url') && clientLogLevel() === 'notice') logToClient('notice', { depth, wait, on, name }, 'notes');
toolsChanged();
promptsChanged();
const missing: Error = new NotFound();
logToClient('error', missing.message);

// What must not compile.

// @ts-expect-error: a tool without `call`.
defineProvider({ read, tools: { add: { title: 'Add' } } });
// @ts-expect-error: a misspelt property of a tool.
defineProvider({ read, tools: { add: { call: () => 'x', desciption: 'x' } } });
// @ts-expect-error: a tool is not async.
defineProvider({ read, tools: { add: { call: async () => 'x' } } });
// @ts-expect-error: a result that is no content.
defineProvider({ read, tools: { add: { call: () => 5 } } });
// @ts-expect-error: an image needs a media type.
defineProvider({ read, tools: { add: { call: () => ({ image: new Uint8Array(1) }) } } });
// @ts-expect-error: the page of a tool is one URI.
defineProvider({ read, tools: { add: { call: () => 'x', appPage: ['ui://a'] } } });
// @ts-expect-error: a page needs HTML.
appPage({ connectsTo: ['https://a.example'] });
// @ts-expect-error: a list of domains.
appPage({ html: 'x', connectsTo: 'https://a.example' });
// @ts-expect-error: an unknown permission.
appPage({ html: 'x', permissions: ['clipboard-write'] });
// @ts-expect-error: the argument is a number.
tool({ input: { count: { type: 'number' } }, call: ({ count }) => count.trim() });
// @ts-expect-error: the argument may be undefined.
tool({ input: { text: { type: 'string', optional: true } }, call: ({ text }) => text.trim() });
// @ts-expect-error: there is no such argument.
tool({ input: { text: { type: 'string' } }, call: ({ txt }) => txt });
// @ts-expect-error: an unknown type.
tool({ input: { text: { type: 'text' } }, call: () => '' });
// @ts-expect-error: there may be no input.
tool({ call: (_, context) => context.input.accepted('a')?.['b'] });
// @ts-expect-error: there is no such argument.
prompt({ arguments: { version: { required: true } }, get: ({ versoin }) => versoin });
// @ts-expect-error: the argument is not required.
prompt({ arguments: { tone: {} }, get: ({ tone }) => tone.trim() });
// @ts-expect-error: an unknown role.
defineProvider({ read, prompts: { a: { get: () => [{ role: 'system', content: 'x' }] } } });
// @ts-expect-error: an unknown type of a setting.
defineProvider({ read, settings: { a: { type: 'string', description: 'x' } } });
// @ts-expect-error: a setting needs a description.
defineProvider({ read, settings: { a: { type: 'text' } } });
// @ts-expect-error: a hit needs an entry.
defineProvider({ read, search: () => [{ excerpt: 'x' }] });
// @ts-expect-error: only `input` makes a request for input.
defineProvider({ read, tools: { add: { call: () => ({ requests: { a: roots() } }) } } });
// @ts-expect-error: an unknown severity.
logToClient('warn', 'x');
