// Checks the types of values. A type is a function that returns the value in the form that the bindings accept, or
// throws a `Mismatch`. The bindings themselves would trap, without a message.

const MAX_SHOWN = 60;

/** A value does not have the expected type. */
export class Mismatch extends Error {
  // Where the value is: the properties and indexes below the result or below the item of a list.
  path = '';
  // The item of a list that contains the value, such as `entry 3 (uri "a://x")`.
  item = '';

  /** Adds the property or index that contains the value. */
  within(step) {
    if (!this.item) this.path = step + (this.path && !this.path.startsWith('[') ? '.' : '') + this.path;
    return this;
  }

  /** Adds the item of a list that contains the value. */
  inItem(item) {
    this.item ||= item;
    return this;
  }

  /** The full text: the value that is wrong, and how. */
  get text() {
    const path = this.path && `\`${this.path}\``;
    return `${[path, this.item].filter(Boolean).join(' of ') || 'the result'} ${this.message}`;
  }
}

/** The error for a value that should have this type. */
export const mismatch = (type, given) => new Mismatch(`must be ${type}, but is ${show(given)}`);

export function text(given) {
  if (typeof given !== 'string') throw mismatch('a string', given);
  // Replaces lone surrogates. File names may contain them, but passing them to the host would be a trap.
  return given.toWellFormed();
}

// The bindings do not accept a BigInt for a 64-bit number, although the types generated from WIT allow it.
export function integer(given) {
  const number = typeof given === 'bigint' ? Number(given) : given;
  if (!Number.isSafeInteger(number) || number < 0) throw mismatch('an integer from 0 to 2^53 - 1', given);
  return number;
}

export function number(given) {
  if (!Number.isFinite(given)) throw mismatch('a finite number', given);
  return given;
}

export function boolean(given) {
  if (typeof given !== 'boolean') throw mismatch('true or false', given);
  return given;
}

export function oneOf(...names) {
  const type = names.map((name) => JSON.stringify(name)).join(' or ');
  return (given) => {
    if (!names.includes(given)) throw mismatch(type, given);
    return given;
  };
}

/** A value that may be absent: null or undefined. */
export const optional = (type, absent = () => null) => (given) => (given == null ? absent() : type(given));

export const array = (type) => (given) => each(given, type, (index, thrown) => thrown.within(`[${index}]`));

/** An array whose items are named in messages: by a noun, the index, and the first of these properties. */
export const items = (noun, type, ...names) => (given) => {
  return each(given, type, (index, thrown) => {
    const name = names.find((name) => typeof given[index]?.[name] === 'string');
    return thrown.inItem(`${noun} ${index}${name ? ` (${name} ${show(given[index][name])})` : ''}`);
  });
};

function each(given, type, locate) {
  if (!Array.isArray(given)) throw mismatch('an array', given);
  const result = [];
  let index = 0;
  try {
    for (; index < given.length; index += 1) result.push(type(given[index]));
  } catch (thrown) {
    throw thrown instanceof Mismatch ? locate(index, thrown) : thrown;
  }
  return result;
}

/** An object with these properties and no others. Names in `similar` are suggested for unknown properties, too. */
export function record(type, fields, similar = []) {
  const names = Object.keys(fields);
  return (given) => {
    if (!isObject(given)) throw mismatch(type, given);
    for (const name of Object.keys(given)) {
      if (!Object.hasOwn(fields, name)) throw new Mismatch(`has the ${unknown(name, [...names, ...similar])}`);
    }
    const result = {};
    let name;
    try {
      for (name of names) result[name] = fields[name](given[name]);
    } catch (thrown) {
      throw within(name, thrown);
    }
    return result;
  };
}

const within = (step, thrown) => (thrown instanceof Mismatch ? thrown.within(step) : thrown);

/** Pairs of texts, as an array. */
export const pairList = array((given) => {
  if (!Array.isArray(given) || given.length !== 2) throw mismatch('an array of two strings', given);
  return texts(given);
});

const texts = array(text);

/** Pairs of texts, as an array or as an object. */
export function pairs(given) {
  if (Array.isArray(given)) return pairList(given);
  if (!isObject(given)) throw mismatch('an object with strings or an array of pairs', given);
  return Object.entries(given).map(([name, value]) => {
    try {
      return [text(name), text(value)];
    } catch (thrown) {
      throw within(shorten(name), thrown);
    }
  });
}

/** Whether a value is an object with properties, and not an array, a Map, a Date, a Promise or the like. */
export const isObject = (given) => Object.prototype.toString.call(given) === '[object Object]';

/** A short form of a value, for messages. */
export function show(value) {
  if (typeof value === 'string') return shorten(JSON.stringify(value.slice(0, MAX_SHOWN)), '"');
  if (typeof value === 'bigint') return shorten(`${value}n`);
  if (Array.isArray(value)) return `an array of ${count(value.length, 'item')}`;
  if (value instanceof Uint8Array) return `a Uint8Array of ${count(value.length, 'byte')}`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return shorten(String(value));
  const kind = value.constructor?.name || Object.prototype.toString.call(value).slice(8, -1);
  if (kind !== 'Object') return shorten(`${/^[AEIO]/i.test(kind) ? 'an' : 'a'} ${kind}`);
  const names = Object.keys(value);
  return names.length ? shorten(`{ ${names.join(', ')} }`, ' }') : '{}';
}

const count = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;

function shorten(text, end = '') {
  if (text.length <= MAX_SHOWN) return text;
  return `${text.slice(0, MAX_SHOWN - 1 - end.length)}…${end}`;
}

/** Describes an unknown property: with the nearest known name, or with all known names. */
export function unknown(name, known) {
  const near = misspelt(name, known) ?? known.find((other) => contains(name, other) || contains(other, name));
  const help = near ? `did you mean \`${near}\`?` : `known are ${known.map((other) => `\`${other}\``).join(', ')}`;
  return `unknown property \`${shorten(name)}\`: ${help}`;
}

const normalize = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

const contains = (name, part) => normalize(part).length > 2 && normalize(name).includes(normalize(part));

/** Returns the known name of which a name looks like a misspelling. */
export function misspelt(name, known) {
  if (name.length > MAX_SHOWN) return undefined;
  const distances = known.map((other) => [distance(normalize(name), normalize(other)), other]);
  const near = distances.filter(([edits, other]) => edits <= (other.length < 6 ? 1 : 2));
  return near.sort(([a], [b]) => a - b)[0]?.[1];
}

// The number of characters to insert, delete, replace or exchange with their neighbour.
function distance(a, b) {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i += 1) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced);
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (exchanged) rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.length][b.length];
}
