// Prompts: their definitions, messages, and suggestions for arguments.

import { checked } from '../call.js';
import { array, boolean, callable, entriesOf, optional, record, text } from '../check.js';
import { Invalid, NotFound } from '../errors.js';
import { matching } from '../page.js';
import { completion, icons, metadata, someText } from '../values.js';

import { named } from './definitions.js';
import { Input } from './input.js';
import { promptAnswer } from './messages.js';

const argument = record('an object', {
  title: someText,
  description: someText,
  required: optional(boolean, () => false),
  complete: optional(callable),
});

const argumentList = entriesOf('an object with arguments', (given, name) => ({ name, ...argument(given) }));

const definition = record('an object with `get`', {
  title: someText,
  description: someText,
  arguments: optional(argumentList, () => []),
  icons,
  metadata,
  get: callable,
});

/** Checks the prompts of a provider, and returns them by name. */
export const prompts = named('prompt', definition, 'get');

/** The prompt for the list. */
export function listed([name, { definition }]) {
  const { title, description, icons, metadata } = definition;
  const listedArguments = definition.arguments.map(({ complete, ...argument }) => argument);
  return { name, title, description, arguments: listedArguments, icons, metadata };
}

/** Returns the messages of the prompt of this name. */
export function getPrompt(prompts, { name, arguments: pairs, input }) {
  const { author, definition } = find(prompts, name);
  const args = Object.fromEntries(pairs);
  const missing = definition.arguments.find(({ name, required }) => required && !Object.hasOwn(args, name));
  if (missing) throw new Invalid(`\`${missing.name}\` is missing`);
  const context = { input: input ? new Input(input) : undefined };
  return checked(`prompt \`${name}\``, author.get, () => author.get(args, context), promptAnswer);
}

/** Suggests values for an argument. */
export function completeArgument(prompts, { prompt, argument, prefix, filled }) {
  const { author, definition } = find(prompts, prompt);
  const found = definition.arguments.find(({ name }) => name === argument);
  if (!found) throw new NotFound();
  if (!found.complete) return { values: [], total: null, more: false };
  const run = () => author.arguments[argument].complete(prefix, Object.fromEntries(filled));
  return checked(`argument \`${argument}\` of prompt \`${prompt}\``, found.complete, run, suggestions);
}

function find(prompts, name) {
  const prompt = prompts.get(name);
  if (!prompt) throw new NotFound();
  return prompt;
}

const values = array(text);

// Suggestions, or an array of values.
const suggestions = (given) => completion(Array.isArray(given) ? matching(values(given), '') : given);
