// From what providers give to what the contract wants, where everything that may be left out has a default.

// An answer that is there: of one that comes later nothing would be left.
export function settled(given, name) {
  if (typeof given?.then === 'function') throw new TypeError(`\`${name}\` must not be async: nobody would wait for it`);
  return given;
}

// Half a character, which names of files may have, would end the guest.
export function whole(given) {
  if (typeof given === 'string') return given.toWellFormed();
  if (Array.isArray(given)) return given.map(whole);
  if (given === null || typeof given !== 'object' || given instanceof Uint8Array) return given;
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, whole(value)]));
}

export function description(given = {}) {
  return { ...given, claims: given.claims ?? [] };
}

export function listed(given) {
  return { ...given, size: number(given.size), details: details(given.details) };
}

function details(given) {
  if (given == null) return null;
  const icons = (given.icons ?? []).map((icon) => ({ ...icon, sizes: icon.sizes ?? [] }));
  return { ...given, audience: given.audience ?? [], icons, metadata: pairs(given.metadata) };
}

export function content(given) {
  return { uri: given.uri, mimeType: given.mimeType, body: body(given.body), metadata: pairs(given.metadata) };
}

// What is neither gets as far as the bindings otherwise, which end the guest.
function body(given) {
  if (typeof given === 'string') return { tag: 'text', val: given };
  if (given instanceof Uint8Array) return { tag: 'blob', val: given };
  throw new TypeError('the body of a content has to be a string or a Uint8Array');
}

export function reading(given) {
  const { contents = given, version, freshness } = given;
  const all = Array.isArray(contents) ? contents : [contents];
  return { contents: all.map(content), version, freshness: fresh(freshness) };
}

// A page, or a list that is the only one.
export function page(given, name) {
  // An array has `entries` of its own.
  const { [name]: all, nextCursor, freshness } = Array.isArray(given) ? { [name]: given } : given;
  return { [name]: all.map(listed), nextCursor, freshness: fresh(freshness) };
}

export function completion(given) {
  return { values: given.values ?? [], total: number(given.total), more: given.more ?? false };
}

function fresh(given) {
  return given == null ? null : { ttlMs: number(given.ttlMs), scope: given.scope ?? 'everyone' };
}

function pairs(given) {
  return Array.isArray(given) ? given : Object.entries(given ?? {});
}

// QuickJS takes no BigInt for a 64-bit number, though types that are made from WIT say so.
function number(given) {
  return given == null ? null : Number(given);
}
