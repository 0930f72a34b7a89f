// The exported functions of a component, which call those of a provider.

import { call, checkProvider } from './call.js';
import { Failed, toError } from './errors.js';
import { description, matchUri } from './greedy.js';
import { guarded } from './guard.js';
import { Request } from './request.js';

/** Creates the exports of a component from a provider. Errors that the caller does not see are logged. */
export function createExports(provider, logError) {
  checkProvider(provider);
  return exportsOf(provider, logError);
}

/** The exports for resources, completions and versions of a provider that was checked. */
export function exportsOf(provider, logError) {
  return {
    resourceProvider: resources(provider, logError),
    completionProvider: completions(provider, logError),
    versionProvider: versions(provider, logError),
  };
}

function resources(provider, logError) {
  return {
    describe() {
      const { about, problem } = describe(provider, logError);
      return about ?? { summary: problem, claims: [] };
    },
    listResources: guarded('list', logError, (query) => {
      return provider.list ? call(provider, 'list', query) : { entries: [] };
    }),
    listTemplates: guarded('templates', logError, (cursor) => {
      if (cursor == null) checkDescription(provider);
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

// Returns the description, or what is wrong with it.
function describe(provider, logError) {
  try {
    return { about: description(provider) };
  } catch (thrown) {
    const { tag, val } = toError(thrown, 'describe', logError);
    return { problem: `describe failed: ${val ?? tag}` };
  }
}

// `describe` cannot return an error. The next function that the host calls returns it, so that the host reports it.
function checkDescription(provider) {
  const { problem } = describe(provider, () => {});
  if (problem) throw new Failed(problem);
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
