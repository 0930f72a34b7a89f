/**
 * The SDK for the world `interactive-provider`: everything for resources, and tools, prompts, search, settings, and
 * input from the client.
 */

import type { Completion, Content, Details, Entry, Exports, Freshness, Icon, Metadata, Provider } from '../index.js';

export * from '../index.js';

/** A provider with tools, prompts, search and settings, which are optional. */
export interface InteractiveProvider extends Provider {
  /**
   * The tools by name, or a function that returns them. It is called for each list and each call; `toolsChanged`
   * announces a change.
   */
  tools?: Record<string, Tool> | (() => Record<string, Tool>);
  /** The prompts by name, or a function that returns them. */
  prompts?: Record<string, Prompt> | (() => Record<string, Prompt>);
  /** Searches in the content of this provider. An array has all hits. */
  search?(query: SearchQuery): Hits | Hit[];
  /** The settings by name. The host checks the configuration, and `setting` returns values of the declared types. */
  settings?: Record<string, Setting>;
}

/** The exports of the component's main module. */
export interface InteractiveExports extends Exports {
  toolProvider: object;
  promptProvider: object;
  searchProvider: object;
  settingsProvider: object;
}

/** Creates the exports of a component. Throws a TypeError for an object that is not a provider. */
export function defineProvider(provider: InteractiveProvider): InteractiveExports;

/**
 * A setting from the provider's section of the configuration, or the default value. If the provider declares settings,
 * the value has the declared type: `setting<number>('depth')`. A wrong or missing value is then a failure.
 */
export function setting<V extends string | number | boolean = string>(name: string): V | undefined;
export function setting<V extends string | number | boolean = string>(name: string, defaultValue: V): V;

export type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';

/** A JSON Schema. */
export interface Schema {
  type?: JsonType | readonly JsonType[];
  description?: string;
  enum?: readonly unknown[];
  items?: Schema;
  [keyword: string]: unknown;
}

/** The schema of a property, which is required unless it is `optional`. */
export interface PropertySchema extends Schema {
  optional?: boolean;
}

/** The schemas of the properties of an object. */
export type Properties = { readonly [name: string]: PropertySchema };

/** A complete JSON Schema of an object. */
export interface ObjectSchema extends Schema {
  type: 'object';
}

/** The TypeScript type of values that are valid against a schema, as far as `type`, `enum` and `items` determine it. */
export type ValueOf<S> = S extends { enum: readonly (infer V)[] }
  ? V
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'number' | 'integer' }
      ? number
      : S extends { type: 'boolean' }
        ? boolean
        : S extends { type: 'array'; items: infer I }
          ? ValueOf<I>[]
          : any;

type OptionalNames<P> = { [N in keyof P]: P[N] extends { optional: true } ? N : never }[keyof P];

/** The arguments of a tool: typed if `input` has the schemas of the properties. */
export type ArgumentsOf<I> = I extends { type: string }
  ? any
  : { [N in Exclude<keyof I, OptionalNames<I>>]: ValueOf<I[N]> } & { [N in OptionalNames<I>]?: ValueOf<I[N]> };

/**
 * Returns its argument. In TypeScript, the function `call` of `tool({ … })` gets arguments with the types of `input`.
 * Without `tool`, they have the type `any`.
 */
export function tool<const I extends Properties | ObjectSchema>(tool: Tool<I>): Tool;
/**
 * Returns its argument. In TypeScript, the function `get` of `prompt({ … })` gets the names of the arguments: a required
 * one is a string, another one may be undefined. Without `prompt`, they have the type `any`.
 */
export function prompt<const A extends Arguments>(prompt: Prompt<A>): Prompt;

/** A function that a model may call. Every property that says what a client may assume is optional. */
export interface Tool<I = any> {
  title?: string;
  description?: string;
  /** The arguments: the schemas of the properties, or a complete JSON Schema. Without it, there are no arguments. */
  input?: I;
  /** The schema of `structured`: the schemas of the properties, or a complete JSON Schema. */
  output?: Properties | Schema;
  /** The tool does not change anything. */
  readOnly?: boolean;
  /** The tool may delete or overwrite something. */
  destructive?: boolean;
  /** A repeated call with the same arguments has no further effect. */
  idempotent?: boolean;
  /** The tool interacts with the world outside of this provider. */
  openWorld?: boolean;
  /** The call may take long enough to be handled as a task. */
  longRunning?: boolean;
  icons?: Icon[];
  metadata?: Metadata;
  /** The page that clients show for calls of the tool: the URI of a resource of this provider, `ui://…`. See `appPage`. */
  appPage?: string;
  /** Only the page of an app can call the tool; models do not see it. */
  forAppsOnly?: boolean;
  /**
   * Called with arguments that are valid against `input`. If it returns `input(…)`, it is called again with the answers
   * in `context.input`.
   */
  call(args: ArgumentsOf<I>, context: Context): ToolResult;
}

export interface Context {
  /** The input that the last call of this function asked for; undefined in the first call. */
  readonly input?: Input;
}

/** One piece of content. A string is a text. */
export type Block = string | TextBlock | ImageBlock | AudioBlock | LinkBlock | EmbeddedBlock;

export type Annotations = Pick<Details, 'audience' | 'priority' | 'lastModified'>;

interface Annotated {
  annotations?: Annotations;
  metadata?: Metadata;
}

export interface TextBlock extends Annotated {
  text: string;
}

export interface ImageBlock extends Annotated {
  image: Uint8Array;
  mimeType: string;
}

export interface AudioBlock extends Annotated {
  audio: Uint8Array;
  mimeType: string;
}

/** A reference to a resource. Its annotations are those of the entry. */
export interface LinkBlock {
  link: Entry;
  metadata?: Metadata;
}

/** A resource with its content. */
export interface EmbeddedBlock extends Annotated {
  embedded: { uri: string; body: string | Uint8Array; mimeType?: string; metadata?: Metadata };
}

/** The result of a tool. Without `content`, clients get `structured` as a text, too. */
export type ToolResult = Block | Block[] | StructuredResult | InputRequired;

export interface StructuredResult {
  /** A JSON value that is valid against `output`. Clients of older protocol versions need an object. */
  structured?: unknown;
  content?: Block | Block[];
  /** The tool failed; the content explains it to the model. */
  isError?: boolean;
  metadata?: Metadata;
}

/** The media type of the page of an app. */
export const APP_PAGE: 'text/html;profile=mcp-app';

/** The page of an app: HTML, and what the page uses in the browser. */
export interface AppPage {
  html: string;
  /** Domains such as `https://api.example.com`, to which the page sends requests. */
  connectsTo?: string[];
  /** Domains from which the page loads images, scripts, styles, fonts and media. */
  loadsFrom?: string[];
  /** Domains whose frames the page shows. */
  frames?: string[];
  /** Capabilities of the browser. */
  permissions?: ('camera' | 'microphone' | 'geolocation' | 'clipboardWrite')[];
  /** Whether the client should show a border around the page. */
  prefersBorder?: boolean;
}

/**
 * Returns the content for the resource that a tool names with `appPage`. The host passes on only what the operator grants
 * (`apps` in `[provider.NAME]`, or requested in `NAME.toml`).
 */
export function appPage(page: AppPage): Content;

/** The declared arguments of a prompt by name. */
export type Arguments = { readonly [name: string]: Argument };

type RequiredNames<A> = { [N in keyof A]: A[N] extends { required: true } ? N : never }[keyof A];

/** The arguments that `get` receives: typed if `arguments` declares them. */
export type PromptArgumentsOf<A> = 0 extends 1 & A
  ? any
  : { [N in RequiredNames<A>]: string } & { [N in Exclude<keyof A, RequiredNames<A>>]?: string };

/** A prompt that a user selects. */
export interface Prompt<A = any> {
  title?: string;
  description?: string;
  arguments?: A;
  icons?: Icon[];
  metadata?: Metadata;
  /**
   * Returns the messages. Required arguments are present. If it returns `input(…)`, it is called again with the answers
   * in `context.input`.
   */
  get(args: PromptArgumentsOf<A>, context: Context): PromptResult;
}

export interface Argument {
  title?: string;
  description?: string;
  /** The default is false. */
  required?: boolean;
  /** Suggests values that begin with the prefix; see `matching`. */
  complete?(prefix: string, filled: Record<string, string>): string[] | Completion;
}

/** A block is a message from the user. */
export type Message = Block | { role?: 'user' | 'assistant'; content: Block };

export type PromptResult =
  | Block
  | Message[]
  | { messages: Message | Message[]; description?: string; metadata?: Metadata }
  | InputRequired;

export interface SearchQuery {
  text: string;
  /** The maximum number of hits. */
  limit: number;
  uriPrefix?: string | null;
  kind?: string | null;
}

export interface Hit {
  entry: Entry;
  /** A passage that shows why the entry matches. */
  excerpt?: string;
}

export interface Hits {
  /** Best first. */
  hits: Hit[];
  freshness?: Freshness;
}

/** The declaration of a setting. `setting(name)` returns its value. */
export interface Setting {
  /** A size is a number of bytes, such as "64MiB". A duration is a number of milliseconds, such as "1m 30s". */
  type: 'text' | 'number' | 'boolean' | 'size' | 'duration';
  description: string;
  /** As it would be written in the configuration. */
  default?: string | number | boolean;
  required?: boolean;
  /** The value should come from a secret. */
  secret?: boolean;
}

/** A request to the client. */
export interface InputRequest {
  method: string;
  params: object;
}

declare const requested: unique symbol;

/** The result of `input`, for tools and prompts to return. */
export interface InputRequired {
  readonly [requested]: true;
}

/**
 * Asks the client for input: `return input({ version: elicit({ … }) })`. The function is then called again, with the
 * answers. Nothing else is certain to survive between the two calls, except the state.
 */
export function input(
  requests: Record<string, InputRequest>,
  options?: {
    /** Returned unchanged with the answers. The host encrypts it. */
    state?: string | Uint8Array;
  },
): InputRequired;

/** Asks the user to fill in a form. The schema has the fields, or is a complete JSON Schema. */
export function elicit(form: { message: string; schema: Properties | ObjectSchema }): InputRequest;
/** Asks the user to open a page. */
export function elicitUrl(page: { message: string; url: string; elicitationId?: string }): InputRequest;
/** Asks the model of the client for a message. The parameters are those of `sampling/createMessage`. */
export function sample(params: object): InputRequest;
/** Asks for the folders of the client. */
export function roots(): InputRequest;

/** The input of the client. */
export interface Input {
  /** The answers by key: the result, or the error of a client that could not answer. */
  readonly answers: Record<string, { result?: any; error?: any }>;
  /** The state as a text; throws a RangeError if it is not UTF-8. */
  readonly state?: string;
  readonly stateBytes?: Uint8Array;
  /** The content of a form that the user accepted; otherwise undefined. */
  accepted(key: string): Record<string, any> | undefined;
}

export type Severity = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** Whether the client supports a capability: a JSON Pointer into its capabilities, such as `/elicitation/url`. */
export function clientSupports(capability: string): boolean;
/** The lowest severity that the client asked for, if any. */
export function clientLogLevel(): Severity | undefined;
/** Sends a log message to the client. The data can be any JSON value. */
export function logToClient(severity: Severity, data: unknown, logger?: string): void;
/** Notifies clients that the list of tools changed. */
export function toolsChanged(): void;
/** Notifies clients that the list of prompts changed. */
export function promptsChanged(): void;
