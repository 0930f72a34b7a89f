// Calls the functions of a provider.

import { Mismatch, misspelt, show, unknown } from './check.js';
import { WrongValue } from './errors.js';
import { definedAt } from './location.js';
import { RESULTS } from './values.js';

const FUNCTIONS = Object.keys(RESULTS);

// Names of the contract that authors might use instead of those of the SDK.
const CONTRACT_NAMES = { __proto__: null, listResources: 'list', listTemplates: 'templates', readResource: 'read' };

/** Rejects an object that is not a provider. A misspelt function would never be called. */
export function checkProvider(provider) {
  const isProvider = (typeof provider === 'object' && provider !== null) || typeof provider === 'function';
  if (!isProvider) throw new TypeError(`\`defineProvider\` needs an object, not ${show(provider)}`);
  for (const name of unknownNames(provider)) {
    const near = CONTRACT_NAMES[name] && `unknown property \`${name}\`: did you mean \`${CONTRACT_NAMES[name]}\`?`;
    const problem = near ?? unknown(name, FUNCTIONS);
    const hint = 'begin the name with `_` if it is not meant for Larder';
    throw new TypeError(`the provider has the ${problem} (${hint})${definedAt(provider[name] ?? {})}`);
  }
  for (const name of FUNCTIONS) {
    const value = provider[name];
    if (value == null || typeof value === 'function') continue;
    throw new TypeError(`\`${name}\` of the provider must be a function, but is ${show(value)}`);
  }
  if (!provider.read) throw new TypeError('a provider needs at least `read(request)`');
}

// Names that are neither functions of a provider nor private. Instances of classes may have methods and properties of
// their own, so that only names that look like a misspelt, missing function count.
function unknownNames(provider) {
  const isOther = (name) => !name.startsWith('_') && !FUNCTIONS.includes(name);
  if (Object.getPrototypeOf(provider) === Object.prototype) return Object.keys(provider).filter(isOther);
  const missing = FUNCTIONS.filter((name) => provider[name] == null);
  const isMisspelt = (name) => missing.includes(CONTRACT_NAMES[name] ?? misspelt(name, missing));
  return methodNames(provider).filter((name) => isOther(name) && isMisspelt(name));
}

function methodNames(provider) {
  const names = [];
  for (let at = provider; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    const properties = Object.entries(Object.getOwnPropertyDescriptors(at));
    names.push(...properties.filter(([, { value }]) => typeof value === 'function').map(([name]) => name));
  }
  return names;
}

/** Calls a function that the provider has, and returns its result as a value for the bindings. */
export function call(provider, name, argument) {
  const result = provider[name](argument);
  try {
    if (typeof result?.then === 'function') {
      throw new Mismatch('must not be a Promise: a function of a provider is never `async`');
    }
    return RESULTS[name](result, argument);
  } catch (thrown) {
    if (!(thrown instanceof Mismatch)) throw thrown;
    const hint = result === undefined ? '; is a `return` missing?' : '';
    throw new WrongValue(`${name} returned a wrong value: ${thrown.text}${hint}${definedAt(provider[name])}`);
  }
}
