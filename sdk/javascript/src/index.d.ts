/**
 * A provider of resources. Only `read` is required. Results of other types than these, and unknown properties, are
 * failures. Names that begin with `_` are free, and an instance of a class may have other methods and properties.
 * Tools, prompts, search and declared settings are in `larder-provider/interactive`.
 */
export interface Provider {
  /** Describes this provider for people and for the model. */
  describe?(): Description;
  /** Returns one page of the list of resources, sorted by URI; see `paginate`. An array is a single page. */
  list?(query: Query): EntryPage | Entry[];
  /** Returns the RFC 6570 templates of this provider. */
  templates?(cursor?: string): TemplatePage | Template[];
  /**
   * Returns the templates whose last variable also matches slashes, so that `file:///{path}` matches `file:///a/b/c`.
   * They need no claims and no `matchUri`.
   */
  greedy?(): string[];
  /**
   * Matches a URI to a template. Called only for URIs within the claims that no template matches by the rules of RFC
   * 6570. The default matches the templates of `greedy`.
   */
  matchUri?(uri: string): Match | null | undefined;
  /** Reads a resource. After `NotFound`, the host tries other providers. */
  read(request: Request): Reading | Content[] | SingleContent;
  /** Suggests values for a variable of a template. Called only in the world `full-provider`. */
  complete?(request: CompletionRequest): Completion;
  /**
   * Returns the current version of each URI, in order; null if the resource does not exist or its version is known only
   * after a `read`, which the host then makes. Called only in the world `full-provider`. Implement it if versions are
   * cheaper than reads.
   */
  versions?(uris: string[]): (string | null)[];
}

/** The exports of the component's main module. The functions of a provider must not be `async`. */
export interface Exports {
  resourceProvider: object;
  completionProvider: object;
  versionProvider: object;
}

/** Creates the exports of a component. Throws a TypeError for an object that is not a provider. */
export function defineProvider(provider: Provider): Exports;

export interface Description {
  title?: string;
  version?: string;
  summary?: string;
  instructions?: string;
  /** URI prefixes that belong to this provider, in addition to the URIs that it lists. */
  claims?: string[];
}

/** Keys with JSON text. */
export type Metadata = Record<string, string> | [string, string][];

export interface Entry {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number | bigint;
  /** Any text that changes whenever the content changes. */
  version?: string;
  details?: Details;
}

export interface Template {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  details?: Details;
}

export interface Details {
  kind?: string;
  audience?: ('user' | 'assistant')[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** RFC 3339. */
  lastModified?: string;
  icons?: Icon[];
  metadata?: Metadata;
}

export interface Icon {
  src: string;
  mimeType?: string;
  /** Sizes such as "48x48" or "any". */
  sizes?: string[];
  /** The background that the icon is made for, unless it suits both. */
  theme?: 'light' | 'dark';
}

export interface Freshness {
  ttlMs: number | bigint;
  scope?: 'everyone' | 'caller';
}

export interface EntryPage {
  entries: Entry[];
  nextCursor?: string;
  freshness?: Freshness;
}

export interface TemplatePage {
  templates: Template[];
  nextCursor?: string;
  freshness?: Freshness;
}

export interface Content {
  /** A string for text, or bytes. */
  body: string | Uint8Array;
  mimeType?: string;
  /** Only if it differs from the requested URI. */
  uri?: string;
  metadata?: Metadata;
}

/** A content as the whole result of a read. Only a `Reading` has a version or a freshness. */
export type SingleContent = Content & { contents?: never; version?: never; freshness?: never };

export interface Reading {
  contents: Content | Content[];
  version?: string;
  freshness?: Freshness;
}

export interface Query {
  cursor?: string | null;
  limit: number;
  uriPrefix?: string | null;
  kind?: string | null;
}

export interface Match {
  uriTemplate: string;
  /** In the order of the template. A pair is a name and a value. */
  variables: (Variable | [string, string])[];
}

/**
 * A value of a template variable. A list is several variables with the same name, and a map is several variables with
 * the same name and different keys.
 */
export interface Variable {
  name: string;
  key?: string | null;
  value: string;
}

export interface Request {
  readonly uri: string;
  readonly matched?: { readonly uriTemplate: string; readonly variables: readonly Variable[] };
  readonly knownVersion?: string;
  /** The template that matches the URI, if any. */
  readonly template?: string;
  /** The decoded value of a variable; throws if there is none. The items of a list are joined with commas, as in the URI. */
  var(name: string): string;
  /** The value of a variable that the URI may omit, such as `page` of `{?page}`, or the default value. */
  optionalVar(name: string): string | undefined;
  optionalVar(name: string, defaultValue: string): string;
  /** All values of a variable: those of a list or a map. */
  vars(name: string): string[];
  /** The values of a map by key. */
  map(name: string): Record<string, string>;
  /** Throws `NotModified` if the caller already knows this version. */
  unlessKnown(version: string): void;
}

export interface CompletionRequest {
  uriTemplate: string;
  variable: string;
  /** The text that has been typed so far. */
  prefix: string;
  /** Variables that are already filled in. */
  filled: [string, string][];
}

export interface Completion {
  values?: string[];
  total?: number | bigint | null;
  more?: boolean;
}

/**
 * Returns one page of a list that is sorted by URI. For a long list that is not an array, `entries` is a function that is
 * called with the cursor, or undefined for the first page, and returns the entries after it, and possibly earlier ones.
 */
export function paginate(
  entries: Iterable<Entry> | ((after: string | undefined) => Iterable<Entry>),
  query: Query,
): EntryPage;
/** Whether an entry matches the hints of a query: the prefix of the URI and the kind. For a list, also the cursor. */
export function matches(query: Pick<Query, 'cursor' | 'uriPrefix' | 'kind'>, entry: Entry): boolean;
/** Returns the candidates that begin with the prefix. */
export function matching(candidates: Iterable<string>, prefix: string): Completion;

/**
 * Matches a URI with a template whose last variable matches the rest of the path, including slashes. It is meant for
 * implementations of `matchUri`; otherwise `greedy` is sufficient. Only simple expressions such as `{name}` are
 * supported.
 */
export function matchGreedy(template: string, uri: string): Match | undefined;

/** Errors that a provider can throw. Any other exception becomes a failure with its type, message, file and line. */
export class LarderError extends Error {}
export class NotFound extends LarderError {}
export class NotModified extends LarderError {}
export class Invalid extends LarderError {}
export class Denied extends LarderError {}
export class Unavailable extends LarderError {}
export class Failed extends LarderError {}

export interface Caller {
  subject?: string | null;
  /** Who issued the credential. A subject is unique only together with its issuer. */
  issuer?: string | null;
  team: string;
  scopes: string[];
}

/** The caller of the current request; undefined if the host itself makes the call. */
export function caller(): Caller | undefined;
/** The metadata of the request: keys with JSON text. */
export function metadata(): Record<string, string>;
/** A setting from the provider's section of the configuration, or the default value. */
export function setting(name: string): string | undefined;
export function setting(name: string, defaultValue: string): string;
export function log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void;
export function debug(message: string): void;
export function info(message: string): void;
export function warn(message: string): void;
export function error(message: string): void;
/** Notifies subscribers of this URI that its content has changed. */
export function resourceUpdated(uri: string): void;
/** Notifies all clients that the list of entries or templates has changed. */
export function resourcesChanged(): void;
/** Reports the progress of a long read to the caller. */
export function progress(done: number, total?: number, message?: string): void;
/**
 * Whether the request was cancelled. The host usually ends a call at once when its client cancels it or leaves, so that
 * neither this function returns nor `finally` runs.
 */
export function cancelled(): boolean;
/** Milliseconds until the host ends this call. */
export function timeLeft(): number;

/** Whether a folder was granted with exactly this guest path. */
export function granted(folder: string): boolean;
/** Reads a file in a granted folder as bytes. */
export function readFile(path: string): Uint8Array;
/** Reads a file in a granted folder as text. */
export function readText(path: string): string;

export function encode(text: string): Uint8Array;
/** Throws a RangeError if the bytes are not UTF-8. */
export function decode(bytes: Uint8Array): string;

/**
 * Values that outlive a call, in buckets that the operator grants. A value is on the disk when `set` returns. The
 * functions throw `Denied` without the grant, `Failed` beyond a limit, and `Unavailable` if the store cannot be used.
 */
export namespace keyValue {
  interface Bucket {
    /** Returns a value; undefined if there is no such key. */
    get(key: string): Uint8Array | undefined;
    /** Returns a value as text; undefined if there is no such key. */
    getText(key: string): string | undefined;
    /** Stores a value. */
    set(key: string, value: string | Uint8Array): void;
    /** Removes a key, if it exists. */
    delete(key: string): void;
    /**
     * Stores a value, or removes the key if it is undefined, if the key has the expected value, where undefined means
     * that it does not exist. Returns whether it did so.
     */
    compareAndSwap(key: string, expected: string | Uint8Array | undefined, value: string | Uint8Array | undefined): boolean;
    /** Returns all keys that begin with a prefix, in order. */
    keys(prefix?: string): Generator<string>;
  }
  /** All callers of the provider read and write the same values. It needs the grant `key_value = ["shared"]`. */
  const shared: Bucket;
  /** Only calls of the same caller read and write these values. It needs the grant `key_value = ["caller"]`. */
  const caller: Bucket;
}

export namespace http {
  interface Response {
    readonly status: number;
    readonly headers: [string, string][];
    readonly body: Uint8Array;
    /** The first value of a header. Names are case-insensitive. */
    header(name: string): string | undefined;
    /** Returns this response if its status is a success; otherwise throws the error that corresponds to the status. */
    accepted(): Response;
    text(): string;
    json(): any;
  }
  interface Options {
    /** Time limit for the whole exchange in milliseconds. The host has its own limit too. */
    timeout?: number;
  }
  interface Request extends Options {
    method?: string;
    url: string;
    headers?: Record<string, string> | [string, string][];
    body?: string | Uint8Array;
  }
  function get(url: string, headers?: Record<string, string>, options?: Options): Response;
  function send(request: Request): Response;
  /**
   * Sends several requests at once, and returns when all of them have ended. The results are in the order of the
   * requests, and each has either a response or the error that `send` would throw.
   */
  function sendAll(requests: Request[]): { response?: Response; error?: LarderError }[];
}

declare global {
  /** Writes to the log of the host: `log` with the level `info`. Packages expect it. */
  interface Console {
    debug(...data: any[]): void;
    log(...data: any[]): void;
    info(...data: any[]): void;
    warn(...data: any[]): void;
    error(...data: any[]): void;
    trace(...data: any[]): void;
    dir(...data: any[]): void;
  }
  var console: Console;
}
