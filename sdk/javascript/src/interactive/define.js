// Defines the provider of a component with tools, prompts, search and settings.

import { startConsole } from '../define.js';
import { log, setting as configured } from '../host.js';

import { createExports } from './exports.js';
import { declare, read } from './settings.js';

/** Creates the exports of a component from a provider. Only `read` is required. */
export function defineProvider(provider) {
  startConsole();
  const exports = createExports(provider, (text, level = 'error') => log(level, text));
  declare(exports.settingsProvider.settings());
  return exports;
}

/** A setting, of its declared type. */
export const setting = (name, defaultValue) => read(name, configured(name), defaultValue);

/** Returns its argument, a tool. It gives the function `call` its types in TypeScript. */
export const tool = (definition) => definition;

/** Returns its argument, a prompt. */
export const prompt = (definition) => definition;
