// Definitions of tools, prompts and settings: objects with a definition for each name.

import { checked } from '../call.js';
import { Mismatch, entriesOf } from '../check.js';
import { definedAt } from '../location.js';

/**
 * The type of an object with definitions: the result is a Map with each definition and the author's object. Messages
 * contain the noun, the name, and the place of the author's function of this name.
 */
export function named(noun, definition, functionName) {
  const locate = (thrown, name) => thrown.inItem(`${noun} \`${name}\``);
  const convert = (author, name) => {
    try {
      return [name, { author, definition: definition(author, name) }];
    } catch (thrown) {
      if (thrown instanceof Mismatch) thrown.place = definedAt(author?.[functionName] ?? {});
      throw thrown;
    }
  };
  const check = entriesOf(`an object with ${noun}s`, convert, locate);
  return (given) => new Map(check(given));
}

/** Returns a function that returns the definitions: those of the provider, or those that its function returns. */
export function definitions(check, provider, property) {
  const given = provider[property];
  if (given == null) return () => new Map();
  if (typeof given === 'function') return () => checked(property, given, () => provider[property](), check);
  const checkedOnce = checkOnce(check, given);
  return () => checkedOnce;
}

function checkOnce(check, given) {
  try {
    return check(given);
  } catch (thrown) {
    throw thrown instanceof Mismatch ? new TypeError(thrown.text + thrown.place) : thrown;
  }
}
