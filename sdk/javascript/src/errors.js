// Answers other than success: throw one. The text reaches the caller, so say what can be done.

import { whole } from './values.js';

export class LarderError extends Error {
  // What the contract calls it.
  tag = 'failed';

  get name() {
    return this.constructor.name;
  }
}

/** The URI names nothing here. Another provider may still know it. */
export class NotFound extends LarderError {
  tag = 'not-found';
}

/** The version that the caller holds is still the current one. */
export class NotModified extends LarderError {
  tag = 'not-modified';
}

/** The question makes no sense: a bad value, a bad cursor. */
export class Invalid extends LarderError {
  tag = 'invalid';
}

/** This caller may not, or this provider was not granted what it would need. */
export class Denied extends LarderError {
  tag = 'denied';
}

/** Worth another try later. */
export class Unavailable extends LarderError {
  tag = 'unavailable';
}

/** Everything else. */
export class Failed extends LarderError {}

const WITHOUT_TEXT = ['not-found', 'not-modified'];

// What was thrown, as the contract says it. What means nothing there is a failure, and its stack goes to the log.
export function explained(thrown, name, log) {
  if (thrown instanceof LarderError) {
    const { tag, message } = thrown;
    return WITHOUT_TEXT.includes(tag) ? { tag } : { tag, val: whole(message) };
  }
  const isError = thrown instanceof Error;
  const text = whole(isError ? `${thrown.name}: ${thrown.message}` : String(thrown));
  log(`uncaught in ${name}: ${text}\n${(isError && thrown.stack) || ''}`);
  return { tag: 'failed', val: text };
}
