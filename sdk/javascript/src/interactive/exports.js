// The exported functions of the world `interactive-provider`: tools, prompts, search and settings.

import { checkProvider, checked } from '../call.js';
import { items, record } from '../check.js';
import { exportsOf } from '../exports.js';
import { guarded } from '../guard.js';
import { entry, freshness, someText } from '../values.js';

import { definitions } from './definitions.js';
import * as prompts from './prompts.js';
import { settings } from './settings.js';
import * as tools from './tools.js';

/** Creates the exports of a component from a provider. Errors that the caller does not see are logged. */
export function createExports(provider, logError) {
  checkProvider(provider, ['search'], ['tools', 'prompts', 'settings']);
  const declarations = settings(provider);
  return {
    ...exportsOf(provider, logError),
    toolProvider: toolExports(definitions(tools.tools, provider, 'tools'), logError),
    promptProvider: promptExports(definitions(prompts.prompts, provider, 'prompts'), logError),
    searchProvider: searchExports(provider, logError),
    settingsProvider: { settings: () => declarations },
  };
}

function toolExports(defined, logError) {
  return {
    listTools: guarded('listTools', logError, () => ({ tools: Array.from(defined(), tools.listed) })),
    callTool: guarded('callTool', logError, (call) => tools.callTool(defined(), call)),
  };
}

function promptExports(defined, logError) {
  return {
    listPrompts: guarded('listPrompts', logError, () => ({ prompts: Array.from(defined(), prompts.listed) })),
    getPrompt: guarded('getPrompt', logError, (request) => prompts.getPrompt(defined(), request)),
    completeArgument: guarded('completeArgument', logError, (query) => prompts.completeArgument(defined(), query)),
  };
}

const hitList = items('hit', record('an object with `entry`', { entry, excerpt: someText }));

const hitRecord = record('an array or an object with `hits`', { hits: hitList, freshness });

// Hits, or an array with all hits.
const hits = (given) => hitRecord(Array.isArray(given) ? { hits: given } : given);

function searchExports(provider, logError) {
  const search = (query) => {
    if (!provider.search) return { hits: [] };
    return checked('search', provider.search, () => provider.search(query), hits);
  };
  return { search: guarded('search', logError, search) };
}
