// Values that outlive a call, in buckets that the operator grants: one for all callers, and one for each caller.

import * as host from 'larder:provider/key-value@0.1.0';

import { bytes, text, valid } from './check.js';
import { Denied, Failed, Unavailable } from './errors.js';
import { decode, encode } from './utf8.js';

// The number of keys that the host returns at once.
const PAGE = 1000;

class Bucket {
  #name;

  constructor(name) {
    this.#name = name;
  }

  get(key) {
    return call(() => host.get(this.#name, toKey(key))) ?? undefined;
  }

  getText(key) {
    const value = this.get(key);
    return value && decode(value);
  }

  set(key, value) {
    const [name, stored] = [toKey(key), toValue(value)];
    call(() => host.set(this.#name, name, stored));
  }

  delete(key) {
    call(() => host.delete(this.#name, toKey(key)));
  }

  compareAndSwap(key, expected, value) {
    const [name, current, next] = [toKey(key), toOptional(expected), toOptional(value)];
    return call(() => host.compareAndSwap(this.#name, name, current, next));
  }

  *keys(prefix = '') {
    let cursor = null;
    do {
      const page = call(() => host.listKeys(this.#name, toKey(prefix), cursor, PAGE));
      yield* page.keys;
      cursor = page.nextCursor ?? null;
    } while (cursor !== null);
  }
}

export const shared = new Bucket('shared');
export const caller = new Bucket('caller');

const toKey = (given) => valid('the key', text, given);
const toValue = (given) => valid('the value', (value) => (typeof value === 'string' ? encode(value) : bytes(value)), given);
const toOptional = (given) => (given === undefined || given === null ? null : toValue(given));

function call(operation) {
  try {
    return operation();
  } catch (thrown) {
    throw toError(thrown?.payload ?? thrown);
  }
}

function toError(failure) {
  switch (failure?.tag) {
    case 'not-granted':
      return new Denied(failure.val);
    case 'no-caller':
      return new Denied('values of a caller need a caller with a subject');
    case 'too-large':
      return new Failed('the key or the value is too long to be stored');
    case 'too-many-keys':
      return new Failed('too many keys are stored');
    case 'full':
      return new Failed('the key-value store is full');
    case 'unavailable':
      return new Unavailable(failure.val);
    default:
      return failure;
  }
}
