// The types of the contract. Each function checks a result of a provider and converts it to a value for the bindings.
// Optional properties get defaults.

import {
  array,
  boolean,
  integer,
  isObject,
  items,
  mismatch,
  number,
  oneOf,
  optional,
  pair,
  pairs,
  record,
  text,
} from './check.js';

export const someText = optional(text);
const emptyList = () => [];

export const role = oneOf('user', 'assistant');

export const metadata = optional(pairs, emptyList);

const icon = record('an object with `src`', {
  src: text,
  mimeType: someText,
  sizes: optional(array(text), emptyList),
  theme: optional(oneOf('light', 'dark')),
});

export const icons = optional(array(icon), emptyList);

/** The properties that details and annotations have in common. */
export const ANNOTATIONS = {
  audience: optional(array(role), emptyList),
  priority: optional(number),
  lastModified: someText,
};

const details = record('an object', { kind: someText, ...ANNOTATIONS, icons, metadata });

const LISTED = {
  name: text,
  title: someText,
  description: someText,
  mimeType: someText,
  details: optional(details),
};

export const entry = record('an object with `uri` and `name`', {
  uri: text,
  ...LISTED,
  size: optional(integer),
  version: someText,
});

const template = record('an object with `uriTemplate` and `name`', { uriTemplate: text, ...LISTED });

export const freshness = optional(
  record('an object with `ttlMs`', {
    ttlMs: integer,
    scope: optional(oneOf('everyone', 'caller'), () => 'everyone'),
  }),
);

// A page, or an array as a single page.
function page(name, list) {
  const paged = record(`an array or an object with \`${name}\``, { [name]: list, nextCursor: someText, freshness });
  return (given) => paged(Array.isArray(given) ? { [name]: given } : given);
}

const CONTENT = { uri: someText, mimeType: someText, body, metadata };

export function body(given) {
  if (typeof given === 'string') return { tag: 'text', val: text(given) };
  if (given instanceof Uint8Array) return { tag: 'blob', val: given };
  throw mismatch('a string or a Uint8Array', given);
}

const content = record('an object with `body`', CONTENT);

const contentList = items('content', content, 'uri');

const withContents = record('an object with `contents`', {
  contents: (given) => (Array.isArray(given) ? contentList(given) : [content(given)]),
  version: someText,
  freshness,
});

const withBody = record('an object with `body`', { ...CONTENT, version: someText, freshness }, ['contents']);

// A reading, a content with the other properties of a reading, or an array of contents.
function reading(given) {
  if (Array.isArray(given)) return { contents: contentList(given), version: null, freshness: null };
  if (!isObject(given)) throw mismatch('an object with `body` or `contents`, or an array of contents', given);
  if ('contents' in given) return withContents(given);
  const { version, freshness, ...content } = withBody(given);
  return { contents: [content], version, freshness };
}

const versionList = items('version', someText);

// One version for each URI.
function versions(given, uris) {
  if (!Array.isArray(given) || given.length !== uris.length) {
    throw mismatch(`an array of length ${uris.length}, with a version or null for each URI`, given);
  }
  return versionList(given);
}

const variable = record('an object with `name` and `value`, or an array of two strings', {
  name: text,
  key: someText,
  value: text,
});

// A variable, or the pair of its name and its value.
function pairOrVariable(given) {
  if (!Array.isArray(given)) return variable(given);
  const [name, value] = pair(given);
  return { name, key: null, value };
}

/** Suggestions for a variable or an argument. */
export const completion = record('an object with `values`', {
  values: optional(array(text), emptyList),
  total: optional(integer),
  more: optional(boolean, () => false),
});

/** The type of the result of each function of a provider. */
export const RESULTS = {
  describe: record('an object', {
    title: someText,
    version: someText,
    summary: someText,
    instructions: someText,
    claims: optional(array(text), emptyList),
  }),
  list: page('entries', items('entry', entry, 'uri', 'name')),
  templates: page('templates', items('template', template, 'uriTemplate', 'name')),
  greedy: items('template', text),
  matchUri: optional(
    record('an object with `uriTemplate` and `variables`, or null', {
      uriTemplate: text,
      variables: array(pairOrVariable),
    }),
  ),
  read: reading,
  complete: completion,
  versions,
};
