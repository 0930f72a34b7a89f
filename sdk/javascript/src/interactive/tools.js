// Tools: their definitions, and calls.

import { checked } from '../call.js';
import { Mismatch, boolean, callable, optional, record } from '../check.js';
import { NotFound } from '../errors.js';
import { icons, metadata, someText } from '../values.js';

import { named } from './definitions.js';
import { Input } from './input.js';
import { objectSchema, schema } from './json.js';
import { toolAnswer } from './messages.js';

const flag = optional(boolean);

const fields = record('an object with `call`', {
  title: someText,
  description: someText,
  input: optional(objectSchema, () => ({ type: 'object', properties: {} })),
  output: optional(schema),
  readOnly: flag,
  destructive: flag,
  idempotent: flag,
  openWorld: flag,
  longRunning: flag,
  icons,
  metadata,
  call: callable,
});

// The host omits tools with other names.
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

function definition(given, name) {
  if (!NAME.test(name)) throw new Mismatch('must have a name of 1 to 64 letters, digits, `_` or `-`');
  return fields(given);
}

/** Checks the tools of a provider, and returns them by name. */
export const tools = named('tool', definition, 'call');

/** The tool for the list. */
export function listed([name, { definition }]) {
  const { title, description, input, output, icons, metadata } = definition;
  const { readOnly, destructive, idempotent, openWorld, longRunning } = definition;
  return {
    name,
    title,
    description,
    inputSchema: JSON.stringify(input),
    outputSchema: output && JSON.stringify(output),
    hints: { readOnly, destructive, idempotent, openWorld, longRunning },
    icons,
    metadata,
  };
}

/** Calls the tool of this name. */
export function callTool(tools, { name, arguments: args, input }) {
  const tool = tools.get(name);
  if (!tool) throw new NotFound();
  const context = { input: input ? new Input(input) : undefined };
  const run = () => tool.author.call(JSON.parse(args), context);
  return checked(`tool \`${name}\``, tool.author.call, run, toolAnswer(tool.definition.output !== null));
}
