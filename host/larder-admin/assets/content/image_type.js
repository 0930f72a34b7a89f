// Finds out from the bytes whether something is a raster image that a browser can show safely, and how large it is.
// What a provider says about the type does not matter. SVG is a document, not a raster image. Knows no elements.

/** Returns `{type, width, height}`, or null if the bytes are no image of a known kind. */
export function imageType(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const known of [png, gif, webp, jpeg]) {
    try {
      const found = known(bytes, view);
      if (found) return found;
    } catch (error) {
      // The head of the file ends too early.
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return null;
}

function ascii(bytes, from, to) {
  return String.fromCharCode(...bytes.subarray(from, to));
}

function png(bytes, view) {
  if (ascii(bytes, 0, 8) !== "\x89PNG\r\n\x1a\n" || ascii(bytes, 12, 16) !== "IHDR") return null;
  return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
}

function gif(bytes, view) {
  if (!["GIF87a", "GIF89a"].includes(ascii(bytes, 0, 6))) return null;
  return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

function webp(bytes, view) {
  if (ascii(bytes, 0, 4) !== "RIFF" || ascii(bytes, 8, 12) !== "WEBP") return null;
  const type = "image/webp";
  const chunk = ascii(bytes, 12, 16);
  if (chunk === "VP8 ")
    return { type, width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  if (chunk === "VP8L") {
    const bits = view.getUint32(21, true);
    return { type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (chunk !== "VP8X") return null;
  return {
    type,
    width: (view.getUint32(24, true) & 0xffffff) + 1,
    height: (view.getUint32(26, true) >>> 8) + 1,
  };
}

/** The size is in the first segment that starts a frame: 0xc0 to 0xcf, without three other kinds. */
function jpeg(bytes, view) {
  if (ascii(bytes, 0, 3) !== "\xff\xd8\xff") return null;
  let at = 2;
  while (view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}
