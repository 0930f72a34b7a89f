// QuickJS has no TextEncoder and no TextDecoder. A loop over a megabyte takes longer than a call may, so the work is
// given to what the engine does by itself.

// As many bytes at once as a call may have arguments.
const PIECE = 8192;

/** The bytes of a text. */
export function encode(text) {
  const binary = unescape(encodeURIComponent(text.toWellFormed()));
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** The text that the bytes are. Throws a RangeError where they are not UTF-8. */
export function decode(bytes) {
  const pieces = [];
  for (let at = 0; at < bytes.length; ) {
    const end = boundary(bytes, Math.min(at + PIECE, bytes.length));
    const binary = String.fromCharCode.apply(null, bytes.subarray(at, end));
    pieces.push(/[\x80-\xff]/.test(binary) ? decoded(binary, at) : binary);
    at = end;
  }
  return pieces.join('');
}

// The place at or before this one that is inside of no character.
function boundary(bytes, end) {
  if (end === bytes.length) return end;
  let begin = end;
  while (end - begin < 3 && (bytes[begin] & 0xc0) === 0x80) begin -= 1;
  return begin;
}

// A text whose characters are bytes. What is escaped byte by byte is UTF-8 to whoever decodes it.
function decoded(binary, at) {
  try {
    return decodeURIComponent(escape(binary));
  } catch {
    throw new RangeError(`not UTF-8 between the bytes ${at} and ${at + binary.length}`);
  }
}
