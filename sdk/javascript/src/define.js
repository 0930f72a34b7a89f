// From the functions of a component to the functions of a provider.

import { explained } from './errors.js';
import { about, matched } from './greedy.js';
import { log } from './host.js';
import { Request } from './request.js';
import * as values from './values.js';

const complain = (text) => log('error', text);

/** Makes the exports of a component out of a provider. Only `read` has to be written. */
export function defineProvider(provider) {
  if (typeof provider?.read !== 'function') throw new TypeError('a provider needs at least `read(request)`');
  return {
    resourceProvider: resources(provider),
    completionProvider: completions(provider),
    versionProvider: versions(provider),
  };
}

function resources(provider) {
  return {
    describe() {
      try {
        return values.whole(values.description(about(provider)));
      } catch (thrown) {
        const { tag, val } = explained(thrown, 'describe', complain);
        return { summary: `cannot describe itself: ${val ?? tag}`, claims: [] };
      }
    },
    listResources: guarded('list', (query) => values.page(ask(provider, 'list', query) ?? [], 'entries')),
    listTemplates: guarded('templates', (cursor) => {
      return values.page(ask(provider, 'templates', cursor ?? undefined) ?? [], 'templates');
    }),
    matchUri(uri) {
      try {
        return values.whole(values.settled(matched(provider, uri), 'matchUri'));
      } catch (thrown) {
        // There is no other way to say it: nobody matched.
        explained(thrown, 'matchUri', complain);
        return null;
      }
    },
    readResource: guarded('read', (request) => values.reading(ask(provider, 'read', new Request(request)))),
  };
}

function completions(provider) {
  return { complete: guarded('complete', (request) => values.completion(ask(provider, 'complete', request) ?? {})) };
}

function versions(provider) {
  // Unless written, none is known, and the host reads.
  return { versions: guarded('versions', (uris) => ask(provider, 'versions', uris) ?? uris.map(() => null)) };
}

// Of what need not be there.
function ask(provider, name, question) {
  return values.settled(provider[name]?.(question), name);
}

// What escapes ends the guest, unless it is one of the contract's errors.
function guarded(name, answer) {
  return (question) => {
    try {
      return values.whole(answer(question));
    } catch (thrown) {
      throw explained(thrown, name, complain);
    }
  };
}
