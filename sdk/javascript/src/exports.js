// The exported functions of a component, which call those of a provider.

import { call, checkProvider } from './call.js';
import { toError } from './errors.js';
import { description, matchUri } from './greedy.js';
import { Request } from './request.js';

/** Creates the exports of a component from a provider. Errors that the caller does not see are logged. */
export function createExports(provider, logError) {
  checkProvider(provider);
  return {
    resourceProvider: resources(provider, logError),
    completionProvider: completions(provider, logError),
    versionProvider: versions(provider, logError),
  };
}

function resources(provider, logError) {
  return {
    describe() {
      try {
        return description(provider);
      } catch (thrown) {
        const { tag, val } = toError(thrown, 'describe', logError);
        return { summary: `describe failed: ${val ?? tag}`, claims: [] };
      }
    },
    listResources: guarded('list', logError, (query) => {
      return provider.list ? call(provider, 'list', query) : { entries: [] };
    }),
    listTemplates: guarded('templates', logError, (cursor) => {
      return provider.templates ? call(provider, 'templates', cursor ?? undefined) : { templates: [] };
    }),
    matchUri(uri) {
      try {
        return matchUri(provider, uri);
      } catch (thrown) {
        // `match-uri` cannot return an error, so the URI counts as not matched.
        toError(thrown, 'matchUri', logError);
        return null;
      }
    },
    readResource: guarded('read', logError, (request) => call(provider, 'read', new Request(request))),
  };
}

function completions(provider, logError) {
  const complete = (request) => (provider.complete ? call(provider, 'complete', request) : { values: [], more: false });
  return { complete: guarded('complete', logError, complete) };
}

function versions(provider, logError) {
  // By default, no version is known, and the host reads.
  const versions = (uris) => (provider.versions ? call(provider, 'versions', uris) : uris.map(() => null));
  return { versions: guarded('versions', logError, versions) };
}

// Converts exceptions to errors of the contract. Any other exception would be a trap.
function guarded(name, logError, implementation) {
  return (argument) => {
    try {
      return implementation(argument);
    } catch (thrown) {
      throw toError(thrown, name, logError);
    }
  };
}
