// Settings: their declarations, and typed values.

import { Mismatch, boolean, integer, mismatch, number, oneOf, optional, record, show, text } from '../check.js';
import { Failed } from '../errors.js';
import { unknown } from '../names.js';

import { definitions, named } from './definitions.js';

const SIZES = { __proto__: null, B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

const TRUTH = new Map([['true', true], ['false', false]]);

// Units of time, and their length in milliseconds.
const UNITS = [
  [/^(nanos|nsec|ns)$/, 1e-6],
  [/^(usec|us|µs)$/, 1e-3],
  [/^(millis|msec|ms)$/, 1],
  [/^(seconds?|secs?|s)$/, 1e3],
  [/^(minutes?|mins?|m)$/, 6e4],
  [/^(hours?|hrs?|h)$/, 36e5],
  [/^(days?|d)$/, 864e5],
  [/^(weeks?|wks?|w)$/, 6048e5],
  [/^(months?|M)$/, 2630016e3],
  [/^(years?|yrs?|y)$/, 31557600e3],
];

// For each type: its name for messages, the value of a text, and the type of a default that is not a text.
const TYPES = {
  text: { noun: 'a text', parse: (text) => text },
  number: { noun: 'a number, such as "5"', parse: parseNumber, other: number },
  boolean: { noun: '"true" or "false"', parse: (text) => TRUTH.get(text), other: boolean },
  size: { noun: 'a size, such as "64MiB"', parse: parseSize, other: integer },
  duration: { noun: 'a duration, such as "10s" or "1m 30s"', parse: parseDuration },
};

const finite = (value) => (Number.isFinite(value) ? value : undefined);

function parseNumber(text) {
  return /\d/.test(text) ? finite(Number(text)) : undefined;
}

function parseSize(text) {
  const [, digits, unit] = /^(\d+)\s*([A-Za-z]*)$/.exec(text) ?? [];
  const size = digits * SIZES[unit || 'B'];
  return Number.isSafeInteger(size) ? size : undefined;
}

function parseDuration(text) {
  if (text === '0') return 0;
  if (!/^\s*(\d+(\.\d+)?\s*[a-zµ]+\s*)+$/i.test(text)) return undefined;
  const parts = Array.from(text.matchAll(/([\d.]+)\s*([a-zµ]+)/gi), ([, count, name]) => {
    return count * (UNITS.find(([unit]) => unit.test(name))?.[1] ?? NaN);
  });
  return finite(parts.reduce((sum, part) => sum + part, 0));
}

const fields = record('an object with `type` and `description`', {
  type: oneOf(...Object.keys(TYPES)),
  description: text,
  default: (given) => given,
  required: optional(boolean, () => false),
  secret: optional(boolean, () => false),
});

function declaration(given) {
  const { type, ...declared } = fields(given);
  return { ...declared, kind: type, default: defaultText(type, declared.default) };
}

// The default as it would be written in the configuration.
function defaultText(type, given) {
  if (given == null) return null;
  const { noun, parse, other } = TYPES[type];
  try {
    const written = typeof given === 'string' || !other ? text(given) : String(other(given));
    if (parse(written) === undefined) throw mismatch(noun, given);
    return written;
  } catch (thrown) {
    throw thrown instanceof Mismatch ? thrown.within('default') : thrown;
  }
}

const check = named('setting', declaration);

/** Checks the settings of a provider, and returns their declarations. */
export function settings(provider) {
  const checkedOnce = definitions(check, provider, 'settings');
  return Array.from(checkedOnce(), ([name, { definition }]) => ({ name, ...definition }));
}

// The declared settings of this component.
let declared = new Map();

/** Sets the declarations for `read`. */
export const declare = (list) => {
  declared = new Map(list.map((declaration) => [declaration.name, declaration]));
};

/** The value of a setting, of its declared type. `configured` is its text in the configuration, if any. */
export function read(name, configured, defaultValue) {
  if (declared.size === 0) return configured ?? defaultValue;
  const declaration = declared.get(name);
  if (!declaration) throw new TypeError(`the provider reads an ${unknown(name, [...declared.keys()], 'setting')}`);
  const written = configured ?? (defaultValue === undefined ? declaration.default : undefined);
  if (written != null) return parse(declaration, written);
  if (declaration.required && defaultValue === undefined) throw new Failed(`the setting \`${name}\` is missing`);
  return defaultValue;
}

function parse({ name, kind, secret }, written) {
  const value = TYPES[kind].parse(written);
  if (value !== undefined) return value;
  const shown = secret ? '' : `, but is ${show(written)}`;
  throw new Failed(`the setting \`${name}\` must be ${TYPES[kind].noun}${shown}`);
}
