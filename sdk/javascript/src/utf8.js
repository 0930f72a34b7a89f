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
