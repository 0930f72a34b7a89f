// Defines the provider of a component.

import { createExports } from './exports.js';
import { log } from './host.js';

/** Creates the exports of a component from a provider. Only `read` is required. */
export const defineProvider = (provider) => createExports(provider, (text) => log('error', text));
