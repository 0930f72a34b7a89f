// JSON texts: values, and schemas of objects.

import { Mismatch, boolean, entriesOf, isObject, mismatch, oneOf } from '../check.js';

/** Returns the JSON text of a value. `JSON.stringify` would omit or change values that JSON does not have. */
export function json(given) {
  checkJson(given, []);
  const text = JSON.stringify(given);
  // From `toJSON`.
  if (text === undefined) throw mismatch('a JSON value', given);
  return text;
}

/** Returns the JSON text of an object. */
export function jsonObject(given) {
  if (!isObject(given)) throw mismatch('an object', given);
  return json(given);
}

function checkJson(given, parents) {
  if (given === null || typeof given === 'string' || typeof given === 'boolean' || Number.isFinite(given)) return;
  if (typeof given?.toJSON === 'function') return;
  if (!isObject(given) && !Array.isArray(given)) throw mismatch('a JSON value', given);
  if (parents.includes(given)) throw new Mismatch('must not contain itself');
  for (const [name, value] of Object.entries(given)) {
    // As in JSON.stringify, a property without a value is absent.
    if (value === undefined && !Array.isArray(given)) continue;
    try {
      checkJson(value, [...parents, given]);
    } catch (thrown) {
      throw thrown instanceof Mismatch ? thrown.within(Array.isArray(given) ? `[${name}]` : name) : thrown;
    }
  }
}

const typeName = oneOf('string', 'number', 'integer', 'boolean', 'object', 'array', 'null');

/** Whether this is a complete JSON Schema, and not an object with the schemas of properties. */
export const isSchema = (given) => {
  return isObject(given) && (typeof given.type === 'string' || Object.keys(given).some((name) => name.startsWith('$')));
};

/** A JSON Schema, or an object with the schemas of properties, which are required unless they are `optional`. */
export function schema(given) {
  if (isSchema(given)) return (json(given), given);
  const properties = propertySchemas(given);
  const required = Object.keys(given).filter((name) => !given[name].optional);
  return { type: 'object', properties: Object.fromEntries(properties), ...(required.length ? { required } : {}) };
}

/** A schema of an object. */
export function objectSchema(given) {
  const checked = schema(given);
  if (checked.type !== 'object') throw mismatch('"object"', checked.type).within('type');
  return checked;
}

const propertySchemas = entriesOf('a JSON Schema, or an object with the schemas of properties', (given, name) => {
  if (!isObject(given)) throw mismatch('a JSON Schema', given);
  const { optional, ...property } = given;
  if (typeof optional !== 'undefined') field('optional', boolean, optional);
  if (typeof given.type !== 'undefined' && !Array.isArray(given.type)) field('type', typeName, given.type);
  if (typeof given.required === 'boolean') {
    const text = 'must not be true or false: properties are required unless `optional` is true';
    throw new Mismatch(text).within('required');
  }
  return (json(property), [name, property]);
});

function field(name, type, value) {
  try {
    return type(value);
  } catch (thrown) {
    throw thrown.within(name);
  }
}
