// The types of the results of tools and prompts: content, messages, and requests to the client.

import { Mismatch, array, boolean, bytes, isObject, items, mismatch, optional, record, text } from '../check.js';
import { unknown } from '../names.js';
import { ANNOTATIONS, body, entry, metadata, role, someText } from '../values.js';

import { InputRequired } from './input.js';
import { json } from './json.js';

const annotations = optional(record('an object', ANNOTATIONS));

const embedded = record('an object with `uri` and `body`', { uri: text, mimeType: someText, body, metadata });

const COMMON = { annotations, metadata };

// The kinds of blocks. The annotations of a link are those of its entry.
const BLOCKS = {
  text: record('an object', { text, ...COMMON }),
  image: record('an object', { image: bytes, mimeType: text, ...COMMON }),
  audio: record('an object', { audio: bytes, mimeType: text, ...COMMON }),
  link: record('an object', { link: entry, metadata }),
  embedded: record('an object', { embedded, ...COMMON }),
};

const KINDS = Object.keys(BLOCKS);
const BLOCK = 'a string or an object with `text`, `image`, `audio`, `link` or `embedded`';

const kindOf = (given) => (isObject(given) ? KINDS.find((kind) => given[kind] !== undefined) : undefined);

const isBlock = (given) => typeof given === 'string' || kindOf(given) !== undefined;

function block(given) {
  if (typeof given === 'string') return block({ text: given });
  const kind = kindOf(given);
  if (!kind) {
    const other = isObject(given) && Object.keys(given).find((name) => !(name in COMMON) && name !== 'mimeType');
    throw other ? new Mismatch(`has the ${unknown(other, KINDS)}`) : mismatch(BLOCK, given);
  }
  const { [kind]: value, mimeType, annotations = null, metadata } = BLOCKS[kind](given);
  const val = kind === 'image' || kind === 'audio' ? { mimeType, data: value } : value;
  return { value: { tag: kind, val }, annotations, metadata };
}

const blockList = items('block', block);

const blocks = (given) => (isBlock(given) ? [block(given)] : blockList(given));

const RESULT = 'a string, a block, an array of blocks, or an object with `content` or `structured`';

const resultRecord = record(
  RESULT,
  {
    structured: (given) => (given === undefined ? null : json(given)),
    content: optional(blocks),
    isError: optional(boolean, () => false),
    metadata,
  },
  KINDS,
);

function toolResult(given) {
  if (isBlock(given) || Array.isArray(given)) {
    return { content: blocks(given), structured: null, isError: false, metadata: [] };
  }
  const { content, structured, ...result } = resultRecord(given);
  // Clients that do not support structured results need them as a text.
  const text = () => (structured === null ? [] : [block(structured)]);
  return { content: content ?? text(), structured, ...result };
}

// The answer to a call: its result, or the request for input.
const answer = (complete) => (given) => {
  if (given instanceof InputRequired) return { tag: 'input-required', val: given.required };
  return { tag: 'complete', val: complete(given) };
};

/** The result of a tool, which must be structured if the tool has an output schema. */
export const toolAnswer = (hasOutput) => answer((given) => {
  const result = toolResult(given);
  if (hasOutput && !result.isError && result.structured === null) {
    throw new Mismatch('must have `structured`, because the tool has an `output`');
  }
  return result;
});

const messageRecord = record('a block, or an object with `content`', {
  role: optional(role, () => 'user'),
  content: block,
});

// A message, or a block as a message from the user.
const message = (given) => (isBlock(given) ? { role: 'user', content: block(given) } : messageRecord(given));

const messageList = items('message', message);

const messages = (given) => (Array.isArray(given) ? messageList(given) : [message(given)]);

const promptRecord = record('a string, an array of messages, or an object with `messages`', {
  description: someText,
  messages,
  metadata,
});

/** The result of a prompt. */
export const promptAnswer = answer((given) => {
  const isShort = isBlock(given) || Array.isArray(given);
  return isShort ? { description: null, messages: messages(given), metadata: [] } : promptRecord(given);
});
