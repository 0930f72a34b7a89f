// QuickJS has no TextEncoder and no TextDecoder.

/** The bytes of a text. */
export function encode(text) {
  const bytes = [];
  for (const c of text.toWellFormed()) {
    const code = c.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), tail(code));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), tail(code >> 6), tail(code));
    else bytes.push(0xf0 | (code >> 18), tail(code >> 12), tail(code >> 6), tail(code));
  }
  return Uint8Array.from(bytes);
}

const tail = (bits) => 0x80 | (bits & 0x3f);

// How many bytes follow a first one, and the least that so many may stand for.
const FORMS = [
  { mask: 0x80, mark: 0x00, more: 0, least: 0 },
  { mask: 0xe0, mark: 0xc0, more: 1, least: 0x80 },
  { mask: 0xf0, mark: 0xe0, more: 2, least: 0x800 },
  { mask: 0xf8, mark: 0xf0, more: 3, least: 0x10000 },
];

/** The text that the bytes are. Throws a RangeError where they are not UTF-8. */
export function decode(bytes) {
  let text = '';
  let codes = [];
  for (let at = 0; at < bytes.length; ) {
    const form = FORMS.find(({ mask, mark }) => (bytes[at] & mask) === mark);
    if (!form || at + form.more >= bytes.length) throw new RangeError(`not UTF-8 at byte ${at}`);
    let code = bytes[at] & ~form.mask & 0xff;
    for (let next = 1; next <= form.more; next += 1) {
      const byte = bytes[at + next];
      if ((byte & 0xc0) !== 0x80) throw new RangeError(`not UTF-8 at byte ${at + next}`);
      code = (code << 6) | (byte & 0x3f);
    }
    const surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < form.least || code > 0x10ffff || surrogate) throw new RangeError(`not UTF-8 at byte ${at}`);
    codes.push(code);
    at += form.more + 1;
    // All of them at once would be more arguments than a call may have.
    if (codes.length === 4096) {
      text += String.fromCodePoint(...codes);
      codes = [];
    }
  }
  return text + String.fromCodePoint(...codes);
}
