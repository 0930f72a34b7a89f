// Calls the functions of a provider.

import { Mismatch, isObject, show } from './check.js';
import { WrongValue } from './errors.js';
import { definedAt } from './location.js';
import { misspelt, unknown } from './names.js';
import { RESULTS } from './values.js';

const FUNCTIONS = Object.keys(RESULTS);

// Properties that `defineProvider` of `larder-provider/interactive` accepts, too.
const INTERACTIVE = ['search', 'tools', 'prompts', 'settings'];

// Names of the contract that authors might use instead of those of the SDK.
const CONTRACT_NAMES = { __proto__: null, listResources: 'list', listTemplates: 'templates', readResource: 'read' };

/**
 * Rejects an object that is not a provider. A misspelt function would never be called. A provider may also have the
 * given functions and definitions.
 */
export function checkProvider(provider, moreFunctions = [], definitions = []) {
  const isProvider = (typeof provider === 'object' && provider !== null) || typeof provider === 'function';
  if (!isProvider) throw new TypeError(`\`defineProvider\` needs an object, not ${show(provider)}`);
  const functions = [...FUNCTIONS, ...moreFunctions];
  for (const name of unknownNames(provider, functions, definitions)) {
    const problem = describe(name, [...functions, ...definitions]);
    throw new TypeError(`the provider has the ${problem}${definedAt(provider[name] ?? {})}`);
  }
  for (const name of functions) {
    const value = provider[name];
    if (value == null || typeof value === 'function') continue;
    throw new TypeError(`\`${name}\` of the provider must be a function, but is ${show(value)}`);
  }
  for (const name of definitions) checkDefinitions(name, provider[name]);
  if (!provider.read) throw new TypeError('a provider needs at least `read(request)`');
}

// The problem with a name that the provider must not have.
function describe(name, known) {
  if (INTERACTIVE.includes(name)) {
    return `property \`${name}\`, but only the \`defineProvider\` of 'larder-provider/interactive' accepts it`;
  }
  const near = CONTRACT_NAMES[name] && `unknown property \`${name}\`: did you mean \`${CONTRACT_NAMES[name]}\`?`;
  return `${near ?? unknown(name, known)} (begin the name with \`_\` if it is not meant for Larder)`;
}

// The definitions of tools and prompts may also be returned by a function.
function checkDefinitions(name, value) {
  const isFunction = typeof value === 'function' && name !== 'settings';
  if (value == null || isFunction || isObject(value)) return;
  throw new TypeError(`\`${name}\` of the provider must be an object with ${name}, but is ${show(value)}`);
}

// Names that are neither properties of a provider nor private. Instances of classes may have methods and properties of
// their own, so that only names that look like a misspelt, missing function count.
function unknownNames(provider, functions, definitions) {
  const isOther = (name) => !name.startsWith('_') && !functions.includes(name) && !definitions.includes(name);
  if (Object.getPrototypeOf(provider) === Object.prototype) return Object.keys(provider).filter(isOther);
  const missing = functions.filter((name) => provider[name] == null);
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
  return checked(name, provider[name], () => provider[name](argument), (result) => RESULTS[name](result, argument));
}

/** Runs a function of the author, and returns its result as a value of this type. `name` is for messages. */
export function checked(name, implementation, run, type) {
  const result = run();
  try {
    if (typeof result?.then === 'function') {
      throw new Mismatch('must not be a Promise: a function of a provider is never `async`');
    }
    return type(result);
  } catch (thrown) {
    if (!(thrown instanceof Mismatch)) throw thrown;
    const hint = result === undefined ? '; is a `return` missing?' : '';
    const place = thrown.place || definedAt(implementation);
    throw new WrongValue(`${name} returned a wrong value: ${thrown.text}${hint}${place}`);
  }
}
