// Checks the types of values. A type is a function that returns the value in the form that the bindings accept, or
// throws a `Mismatch`. The bindings themselves would trap, without a message.

import { MAX_SHOWN, shorten, unknown } from './names.js';

/** A value does not have the expected type. */
export class Mismatch extends Error {
  // Where the value is: the properties and indexes below the result or below the item of a list.
  path = '';
  // The item of a list that contains the value, such as `entry 3 (uri "a://x")`.
  item = '';
  // Where the author defined the item, if it is known.
  place = '';

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

export function bytes(given) {
  if (!(given instanceof Uint8Array)) throw mismatch('a Uint8Array', given);
  return given;
}

export function callable(given) {
  if (typeof given !== 'function') throw mismatch('a function', given);
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

/**
 * An object with any names, as an array with the result for each value and name. `locate` adds the name to the message;
 * by default, to the path.
 */
export function entriesOf(type, convert, locate = (thrown, name) => thrown.within(shorten(name))) {
  return (given) => {
    if (!isObject(given)) throw mismatch(type, given);
    return Object.entries(given).map(([name, value]) => {
      try {
        return convert(value, name);
      } catch (thrown) {
        throw thrown instanceof Mismatch ? locate(thrown, name) : thrown;
      }
    });
  };
}

/** A pair of texts. */
export function pair(given) {
  if (!Array.isArray(given) || given.length !== 2) throw mismatch('an array of two strings', given);
  return texts(given);
}

const pairList = array(pair);

const texts = array(text);

/** Pairs of texts, as an array or as an object. */
export const pairs = (given) => (Array.isArray(given) ? pairList(given) : pairsOf(given));

const pairsOf = entriesOf('an object with strings or an array of pairs', (value, name) => [text(name), text(value)]);

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

/** Checks a value that the author passes to a function of this SDK. A wrong one is a TypeError with the author's line. */
export function valid(noun, type, given) {
  try {
    return type(given);
  } catch (thrown) {
    throw thrown instanceof Mismatch ? new TypeError(thrown.inItem(noun).text) : thrown;
  }
}
