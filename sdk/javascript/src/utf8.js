// UTF-8 conversion, since QuickJS has no TextEncoder and no TextDecoder. A loop over a megabyte in JavaScript would
// exceed the CPU time of a call, so the conversion uses native functions of the engine.

// Bytes per chunk, limited by the number of arguments of a call.
const CHUNK_SIZE = 8192;

/** Encodes a text as UTF-8. */
export function encode(text) {
  const binary = unescape(encodeURIComponent(text.toWellFormed()));
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Decodes UTF-8. Throws a RangeError if the bytes are not valid UTF-8. */
export function decode(bytes) {
  const chunks = [];
  for (let at = 0; at < bytes.length; ) {
    const end = boundary(bytes, Math.min(at + CHUNK_SIZE, bytes.length));
    const binary = String.fromCharCode.apply(null, bytes.subarray(at, end));
    chunks.push(/[\x80-\xff]/.test(binary) ? decodeBinary(binary, at) : binary);
    at = end;
  }
  return chunks.join('');
}

// The nearest character boundary at or before this position.
function boundary(bytes, end) {
  if (end === bytes.length) return end;
  let begin = end;
  while (end - begin < 3 && (bytes[begin] & 0xc0) === 0x80) begin -= 1;
  return begin;
}

// Decodes a string whose characters are bytes: `escape` percent-encodes each byte, and `decodeURIComponent` decodes
// the result as UTF-8.
function decodeBinary(binary, at) {
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    throw new RangeError(`invalid UTF-8 between bytes ${at} and ${at + binary.length}`);
  }
}

/** What packages expect, for UTF-8 only. */
export class TextEncoder {
  encoding = 'utf-8';

  encode(text = '') {
    return encode(String(text));
  }
}

/** What packages expect, for UTF-8 only. */
export class TextDecoder {
  encoding = 'utf-8';

  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) throw new RangeError(`only UTF-8 can be decoded, not ${label}`);
    Object.assign(this, { fatal, ignoreBOM });
  }

  decode(given = new Uint8Array()) {
    const bytes = ArrayBuffer.isView(given)
      ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength)
      : new Uint8Array(given);
    const text = this.fatal ? decodeStrictly(bytes) : decodeLeniently(bytes);
    return this.ignoreBOM ? text : text.replace(/^\ufeff/, '');
  }
}

function decodeStrictly(bytes) {
  try {
    return decode(bytes);
  } catch ({ message }) {
    throw new TypeError(message);
  }
}

// The bytes of characters as a string, or those of the beginning of a character, or one byte.
const CHARACTERS = [
  '[\\x00-\\x7f]',
  '[\\xc2-\\xdf][\\x80-\\xbf]',
  '(?:\\xe0[\\xa0-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]|\\xed[\\x80-\\x9f])[\\x80-\\xbf]',
  '(?:\\xf0[\\x90-\\xbf]|[\\xf1-\\xf3][\\x80-\\xbf]|\\xf4[\\x80-\\x8f])[\\x80-\\xbf]{2}',
];
const BEGINNINGS = [
  '\\xe0[\\xa0-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]|\\xed[\\x80-\\x9f]',
  '(?:\\xf0[\\x90-\\xbf]|[\\xf1-\\xf3][\\x80-\\xbf]|\\xf4[\\x80-\\x8f])[\\x80-\\xbf]?',
];
const PIECES = new RegExp(`((?:${CHARACTERS.join('|')})+)|${BEGINNINGS.join('|')}|[^]`, 'g');

/** Replaces what is not UTF-8. */
function decodeLeniently(bytes) {
  try {
    return decode(bytes);
  } catch {
    const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
    return binary.replace(PIECES, (_, characters) => (characters ? decodeURIComponent(escape(characters)) : '\ufffd'));
  }
}
