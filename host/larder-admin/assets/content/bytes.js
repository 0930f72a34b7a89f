// Bytes from base64 and text, and back. Knows no elements.

/** Decodes base64; returns null if it is not valid. */
export function fromBase64(text) {
  try {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
  } catch {
    return null;
  }
}

/** The bytes of a text in UTF-8. */
export function fromText(text) {
  return new TextEncoder().encode(text);
}

/** The text of bytes, or null if they are not UTF-8 or look like something else than text. */
export function toText(bytes) {
  if (bytes.subarray(0, 4096).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
