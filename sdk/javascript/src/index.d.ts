/** What a provider is. Only `read` has to be written. */
export interface Provider {
  /** What this provider is, for people and for the model. */
  describe?(): Description;
  /** One page of what there is, sorted by URI; `paginate` makes pages. A list is the only page. */
  list?(query: Query): EntryPage | Entry[];
  /** Families of resources, by RFC 6570 template. */
  templates?(cursor?: string): TemplatePage | Template[];
  /**
   * Those of the templates whose last variable takes slashes as well, so that `file:///{path}` reads `file:///a/b/c`.
   * They need no claims, and no `matchUri`.
   */
  greedy?(): string[];
  /**
   * Whose template a URI inside our claims belongs to, where matching by RFC 6570 found nothing. Unless written, that of
   * `greedy`.
   */
  matchUri?(uri: string): Match | null | undefined;
  /** What a URI holds. Throw `NotFound` to let another provider try. */
  read(request: Request): Reading | Content | Content[];
  /** Suggestions for a variable of a template. Asked only in the world `full-provider`. */
  complete?(request: CompletionRequest): Completion;
  /**
   * The current version of each URI, in order; null where it names nothing, or where only `read` can tell: the host
   * reads those. Asked only in the world `full-provider`. Write it where there is a cheaper way than reading.
   */
  versions?(uris: string[]): (string | null)[];
}

/** What the component's module has to export. None of its functions may be `async`. */
export interface Exports {
  resourceProvider: object;
  completionProvider: object;
  versionProvider: object;
}

export function defineProvider(provider: Provider): Exports;

export interface Description {
  title?: string;
  version?: string;
  summary?: string;
  instructions?: string;
  /** URI prefixes that are this provider's own, beyond what it lists. */
  claims?: string[];
}

/** Keys and JSON text. */
export type Metadata = Record<string, string> | [string, string][];

export interface Entry {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number | bigint;
  /** Anything that differs whenever the content differs. */
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
  icons?: { src: string; mimeType?: string; sizes?: string[] }[];
  metadata?: Metadata;
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
  /** A string is text, anything else is bytes. */
  body: string | Uint8Array;
  mimeType?: string;
  /** Where it is not the one that was asked for. */
  uri?: string;
  metadata?: Metadata;
}

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
  variables: [string, string][];
}

export interface Request {
  readonly uri: string;
  readonly matched?: Match;
  readonly knownVersion?: string;
  /** The template that the URI belongs to, if any. */
  readonly template?: string;
  /** The decoded value of a variable; throws where there is none. */
  var(name: string): string;
  /** All values of a variable. */
  vars(name: string): string[];
  /** Ends the read where the caller already holds this version. */
  unlessKnown(version: string): void;
}

export interface CompletionRequest {
  uriTemplate: string;
  variable: string;
  /** What has been typed so far. */
  prefix: string;
  /** Variables that are already filled in. */
  filled: [string, string][];
}

export interface Completion {
  values?: string[];
  total?: number | bigint | null;
  more?: boolean;
}

/** One page of a list that is sorted by URI. */
export function paginate(entries: Iterable<Entry>, query: Query): EntryPage;
/** Those of the candidates that begin with what has been typed. */
export function matching(candidates: Iterable<string>, prefix: string): Completion;

/**
 * What a template makes of a URI if its last variable takes the rest of the path, slashes included. For an own
 * `matchUri`; where there is none, `greedy` is enough. Its expressions are plain ones: `{name}`.
 */
export function matchGreedy(template: string, uri: string): Match | undefined;

/** Answers other than success: throw one. Anything else that is thrown becomes a failure, with its stack in the log. */
export class LarderError extends Error {}
export class NotFound extends LarderError {}
export class NotModified extends LarderError {}
export class Invalid extends LarderError {}
export class Denied extends LarderError {}
export class Unavailable extends LarderError {}
export class Failed extends LarderError {}

export interface Caller {
  subject?: string | null;
  team: string;
  scopes: string[];
}

/** Who is asking; none when the host itself asks. */
export function caller(): Caller | undefined;
/** The metadata that came with the request: key and JSON text. */
export function metadata(): Record<string, string>;
/** A setting from the provider's own section of the configuration, or what holds without it. */
export function setting(name: string): string | undefined;
export function setting(name: string, otherwise: string): string;
export function log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void;
export function debug(message: string): void;
export function info(message: string): void;
export function warn(message: string): void;
export function error(message: string): void;
/** Tells those who watch this URI that its content differs. */
export function resourceUpdated(uri: string): void;
/** Tells everyone that the list of entries or templates differs. */
export function resourcesChanged(): void;
/** Tells the caller how far a long read has come. */
export function progress(done: number, total?: number, message?: string): void;
/** Whether nobody waits for the answer any more. */
export function cancelled(): boolean;

/** Whether a folder was granted under just this name. */
export function granted(folder: string): boolean;
/** The bytes of a file in a granted folder. */
export function readFile(path: string): Uint8Array;
/** The text of a file in a granted folder. */
export function readText(path: string): string;

export function encode(text: string): Uint8Array;
/** Throws a RangeError where the bytes are not UTF-8. */
export function decode(bytes: Uint8Array): string;

export namespace http {
  interface Response {
    readonly status: number;
    readonly headers: [string, string][];
    readonly body: Uint8Array;
    /** The first value of a header, whatever the case of its name. */
    header(name: string): string | undefined;
    /** This response, if its status means success; throws what its status means otherwise. */
    accepted(): Response;
    text(): string;
    json(): any;
  }
  function get(url: string, headers?: Record<string, string>): Response;
  function send(request: {
    method?: string;
    url: string;
    headers?: Record<string, string>;
    body?: string | Uint8Array;
  }): Response;
}
