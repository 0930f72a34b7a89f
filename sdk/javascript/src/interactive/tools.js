// Tools: their definitions, calls, and the pages that clients show for them.

import { checked } from '../call.js';
import { Mismatch, array, boolean, callable, oneOf, optional, record, text, valid } from '../check.js';
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
  appPage: someText,
  forAppsOnly: flag,
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
  const { title, description, input, output, icons } = definition;
  const { readOnly, destructive, idempotent, openWorld, longRunning } = definition;
  return {
    name,
    title,
    description,
    inputSchema: JSON.stringify(input),
    outputSchema: output && JSON.stringify(output),
    hints: { readOnly, destructive, idempotent, openWorld, longRunning },
    icons,
    metadata: [...definition.metadata, ...toolMetadata(definition)],
  };
}

// The metadata of the app that shows a tool.
function toolMetadata({ appPage, forAppsOnly }) {
  const ui = {};
  if (appPage !== null) ui.resourceUri = appPage;
  if (forAppsOnly) ui.visibility = ['app'];
  return uiMetadata(ui);
}

const uiMetadata = (ui) => (Object.keys(ui).length > 0 ? [['ui', JSON.stringify(ui)]] : []);

/** Calls the tool of this name. */
export function callTool(tools, { name, arguments: args, input }) {
  const tool = tools.get(name);
  if (!tool) throw new NotFound();
  const context = { input: input ? new Input(input) : undefined };
  const run = () => tool.author.call(JSON.parse(args), context);
  return checked(`tool \`${name}\``, tool.author.call, run, toolAnswer(tool.definition.output !== null));
}

/** The media type of the page of an app. */
export const APP_PAGE = 'text/html;profile=mcp-app';

const domains = optional(array(text), () => []);

const page = record('an object with `html`', {
  html: text,
  connectsTo: domains,
  loadsFrom: domains,
  frames: domains,
  permissions: optional(array(oneOf('camera', 'microphone', 'geolocation', 'clipboardWrite')), () => []),
  prefersBorder: optional(boolean),
});

/** The content of the page of an app: HTML, and what the page uses in the browser. */
export function appPage(given) {
  const { html, connectsTo, loadsFrom, frames, permissions, prefersBorder } = valid('the page', page, given);
  const lists = { connectDomains: connectsTo, resourceDomains: loadsFrom, frameDomains: frames };
  const requested = Object.entries(lists).filter(([, list]) => list.length > 0);
  const ui = {};
  if (requested.length > 0) ui.csp = Object.fromEntries(requested);
  if (permissions.length > 0) ui.permissions = Object.fromEntries(permissions.map((name) => [name, {}]));
  if (prefersBorder !== null) ui.prefersBorder = prefersBorder;
  return { body: html, mimeType: APP_PAGE, metadata: uiMetadata(ui) };
}
