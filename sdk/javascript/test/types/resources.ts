// What must compile, and what must not: each `@ts-expect-error` is an error if the next line compiles.

import {
  caller,
  decode,
  defineProvider,
  encode,
  Failed,
  granted,
  http,
  keyValue,
  LarderError,
  log,
  matches,
  matchGreedy,
  matching,
  metadata,
  NotFound,
  paginate,
  progress,
  readFile,
  readText,
  setting,
  timeLeft,
  type Completion,
  type Content,
  type Description,
  type Entry,
  type EntryPage,
  type Match,
  type Provider,
  type Query,
  type Reading,
  type Request,
  type Template,
} from 'larder-provider';

const entry: Entry = {
  uri: 'n:1',
  name: 'one',
  title: 'One',
  mimeType: 'text/plain',
  size: 3n,
  version: 'v1',
  details: {
    kind: 'note',
    audience: ['user', 'assistant'],
    priority: 0.5,
    lastModified: '2026-05-12T00:00:00Z',
    icons: [{ src: 'https://example.org/icon.png', sizes: ['48x48'], theme: 'dark' }],
    metadata: { 'example.org/a': '1' },
  },
};
const template: Template = { uriTemplate: 'n:{id}', name: 'a note', details: { metadata: [['example.org/a', '1']] } };
const content: Content = { body: new Uint8Array(3), uri: 'n:1', metadata: {} };
const reading: Reading = { contents: [content, { body: 'x' }], version: 'v', freshness: { ttlMs: 5, scope: 'caller' } };

export const long = (query: Query): EntryPage => paginate(() => [entry].values(), query);
export const after = (query: Query): EntryPage => paginate((cursor) => [{ ...entry, uri: cursor ?? 'n:1' }], query);

// All functions, as arrow functions and as methods, with all kinds of results.
export const { resourceProvider, completionProvider, versionProvider } = defineProvider({
  describe: () => ({ title: 'Notes', version: '1', summary: 's', instructions: 'i', claims: ['n:'] }),
  list: (query) => paginate(new Set([entry]), query),
  templates: (cursor) => (cursor === undefined ? [template] : { templates: [template], nextCursor: `${cursor}.` }),
  greedy: () => ['n:{path}'],
  matchUri: (uri) => matchGreedy('n:{path}', uri),
  read(request) {
    request.unlessKnown('v1');
    const page: string = request.optionalVar('page', '1') + (request.optionalVar('size')?.length ?? 0);
    const values: string[] = [request.uri, page, request.var('id'), ...request.vars('tag'), ...Object.values(request.map('at'))];
    const variable = request.matched?.variables[0];
    const key: string | null | undefined = variable?.key;
    if (request.template !== 'n:{id}') throw new NotFound(key ?? 'none');
    return values.length > 9 ? [content] : values.length > 5 ? content : reading;
  },
  complete: ({ uriTemplate, variable, prefix, filled }) => {
    const [first] = filled;
    return matching([uriTemplate, variable, first?.[0] ?? ''], prefix);
  },
  versions: (uris) => uris.map((uri) => (uri === 'n:1' ? 'v1' : null)),
});

// A class, with other methods and properties.
class Notes implements Provider {
  notes = new Map<string, string>();
  list(query: Query): EntryPage {
    return { entries: matches(query, entry) ? [entry] : [], nextCursor: String(query.limit), freshness: { ttlMs: 1 } };
  }
  matchUri(uri: string): Match | undefined {
    return uri ? { uriTemplate: 'n:{id}', variables: [['id', '1'], { name: 'tag', key: null, value: 'a' }] } : undefined;
  }
  complete(): Completion {
    return { values: ['a'], total: 1n, more: false };
  }
  read(request: Request): Content {
    return { body: this.notes.get(request.uri) ?? '' };
  }
}
defineProvider(new Notes());

// Functions of the host.
const subject: string | null | undefined = caller()?.subject;
const scopes: string[] = caller()?.scopes ?? [];
const limit: string = setting('limit', '5');
const maybe: string | undefined = setting('limit');
const bytes: Uint8Array = granted('/notes') ? readFile('/notes/a') : encode(readText('/notes/b') + decode(new Uint8Array()));
log('info', `${subject} ${scopes} ${limit} ${maybe} ${bytes.length} ${timeLeft() > 5} ${metadata()['a']}`);
progress(1);
progress(1, 2, 'half');
const bucket: keyValue.Bucket = keyValue.shared;
bucket.set('a', Uint8Array.of(1));
const kept: string | undefined = keyValue.caller.getText('a');
const swapped: boolean = bucket.compareAndSwap('a', kept, undefined) && [...bucket.keys('a')].length === 0;
const response: http.Response = http.get('https://example.org', { accept: 'text/plain' }, { timeout: 500 }).accepted();
const type: string | undefined = response.header('content-type');
for (const { response, error } of http.sendAll([{ url: 'https://example.org', method: 'PUT', body: bytes, timeout: 5 }])) {
  const text: string | undefined = response?.text() ?? error?.message ?? type;
  log('debug', text ?? '');
}
const failed: LarderError & Error = new Failed('no');
log('error', failed.message);

// What must not compile.

// @ts-expect-error: `read` is required.
defineProvider({ list: () => [] });
// @ts-expect-error: a misspelt function.
defineProvider({ read: () => content, template: () => [] });
// @ts-expect-error: functions are not async.
defineProvider({ read: async () => content });
// @ts-expect-error: a misspelt property of an entry.
defineProvider({ read: () => content, list: () => [{ url: 'n:1', name: 'one' }] });
// @ts-expect-error: an entry without a name.
defineProvider({ read: () => content, list: () => [{ uri: 'n:1' }] });
// @ts-expect-error: a body that is neither text nor bytes.
defineProvider({ read: () => ({ body: 5 }) });
// @ts-expect-error: no content.
defineProvider({ read: () => undefined });
// @ts-expect-error: a reading needs `contents`.
defineProvider({ read: () => ({ body: 'x', version: 'v' }) });
// @ts-expect-error: a misspelt property of a result that is declared.
defineProvider({ read: () => content, describe: (): Description => ({ title: 'x', sumary: 'x' }) });
// @ts-expect-error: an unknown role.
export const audience: Entry = { uri: 'n:1', name: 'one', details: { audience: ['model'] } };
// @ts-expect-error: an unknown scope.
export const scope: Reading = { contents: [], freshness: { ttlMs: 1, scope: 'nobody' } };
// @ts-expect-error: versions are texts.
defineProvider({ read: () => content, versions: () => [1] });
// @ts-expect-error: a request cannot be changed.
defineProvider({ read: (request) => ((request.uri = 'n:2'), content) });
// @ts-expect-error: an unknown level.
log('fatal', 'x');
// @ts-expect-error: the value may be undefined.
export const required: string = setting('limit');
// @ts-expect-error: HTTP is synchronous.
http.get('https://example.org').then();
// @ts-expect-error: tools need the module `larder-provider/interactive`.
defineProvider({ read: () => content, tools: {} });
// @ts-expect-error: nor does this module export their functions.
import { tool } from 'larder-provider';
