// Errors that a provider can throw. The caller sees the text, so it should say how to solve the problem.

import { show } from './check.js';
import { located, thrownAt } from './location.js';

export class LarderError extends Error {
  // The name of the error in the contract.
  tag = 'failed';

  get name() {
    return this.constructor.name;
  }
}

/** There is no such resource in this provider. The host then asks other providers. */
export class NotFound extends LarderError {
  tag = 'not-found';
}

/** In `read`, a file that does not exist is a resource that does not exist. Elsewhere, it is a failure. */
export class FileNotFound extends NotFound {
  get name() {
    return 'NotFound';
  }
}

/** The caller's known version is still current. */
export class NotModified extends LarderError {
  tag = 'not-modified';
}

/**
 * The request is invalid, for example because of a bad value or a bad cursor, or because the resource is larger than a
 * limit. Clients do not repeat it.
 */
export class Invalid extends LarderError {
  tag = 'invalid';
}

/** The caller is not authorized, or the provider lacks a grant. */
export class Denied extends LarderError {
  tag = 'denied';
}

/** A temporary failure; the request may be retried later. */
export class Unavailable extends LarderError {
  tag = 'unavailable';
}

/** Any other failure. */
export class Failed extends LarderError {}

/** A function of the provider returned a value that is not of the documented type. */
export class WrongValue extends LarderError {}

const WITH_TEXT = ['invalid', 'denied', 'unavailable', 'failed'];
const WITHOUT_TEXT = ['not-found', 'not-modified'];

// Converts an exception to an error of the contract. Unknown exceptions become `failed`, with their stack in the log.
export function toError(thrown, name, log) {
  if (thrown instanceof WrongValue) log(thrown.message);
  if (thrown instanceof LarderError) {
    const { tag, message } = thrown;
    if (thrown instanceof FileNotFound) {
      const reason = message + thrownAt(thrown);
      if (name !== 'read') return { tag: 'failed', val: reason.toWellFormed() };
      log(`read: not found, because of ${reason}`, 'debug');
    }
    if (WITHOUT_TEXT.includes(tag)) return { tag };
    return { tag: WITH_TEXT.includes(tag) ? tag : 'failed', val: String(message).toWellFormed() };
  }
  const text = describe(thrown).toWellFormed();
  log(`uncaught exception in ${name}: ${text}\n${thrown instanceof Error ? located(thrown.stack ?? '') : ''}`);
  return { tag: 'failed', val: text + thrownAt(thrown) };
}

// The type and the message of an exception, which can be any value.
function describe(thrown) {
  if (typeof thrown === 'string') return thrown;
  if (!(thrown instanceof Error)) return `threw ${show(thrown)}`;
  return [thrown.name, thrown.message].filter(Boolean).map(String).join(': ');
}
