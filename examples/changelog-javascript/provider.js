// Provides the releases of a changelog (keepachangelog.com) as resources, with tools, a prompt and a search. The same
// provider exists in seven languages.

import {
  decode,
  defineProvider,
  elicit,
  encode,
  Failed,
  granted,
  info,
  input,
  Invalid,
  matches,
  matching,
  NotFound,
  paginate,
  readFile,
  setting,
} from 'larder-provider/interactive';

import { asJson, changesOf, digest, excerpt, releases, SAMPLE } from './changelog.js';

// The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
const FOLDER = '/changelog';
const RELEASES = 'changelog://releases/';
const RELEASE = 'changelog://releases/{version}';
const AS_JSON = 'changelog://releases/{version}/json';

// What clients may assume of the tools: they only read, and only this changelog.
const HINTS = { readOnly: true, idempotent: true, openWorld: false };

const TEXT = { type: 'string' };
const CHANGE = {
  type: 'object',
  properties: { version: TEXT, kind: TEXT, item: TEXT },
  required: ['version', 'kind', 'item'],
};

export const {
  resourceProvider,
  completionProvider,
  versionProvider,
  toolProvider,
  promptProvider,
  searchProvider,
  settingsProvider,
} = defineProvider({
  // Settings of the operator. `larder check` knows their names and types.
  settings: {
    file: {
      type: 'text',
      description: 'Name of the file in the folder that is granted as `/changelog`.',
      default: 'CHANGELOG.md',
    },
  },

  // Describes the provider for people and for the model.
  describe: () => ({
    title: 'Changelog',
    version: '0.1.0',
    summary: 'the releases of a changelog',
    instructions: 'Read a release before you say what it changed.',
  }),

  // Lists the releases, sorted by URI. With a version, the host detects changes without a read.
  list(query) {
    const found = releases(load()).sort((a, b) => (a.version < b.version ? -1 : 1));
    return paginate(found.map(entry), query);
  },

  // Lists the templates. The host matches URIs with them and passes on the variables.
  templates: () => [
    { uriTemplate: RELEASE, name: 'release', title: 'A release', mimeType: 'text/markdown' },
    { uriTemplate: AS_JSON, name: 'release-json', title: 'A release as JSON', mimeType: 'application/json' },
  ],

  // Reads a release. After a "not found" error, the host tries other providers.
  read(request) {
    const release = find(request.var('version'));
    if (!release) throw new NotFound();
    const version = digest(encode(release.text));
    request.unlessKnown(version);
    const contents =
      request.template === AS_JSON
        ? { body: asJson(release), mimeType: 'application/json' }
        : { body: release.text, mimeType: 'text/markdown' };
    return { contents, version };
  },

  // Suggests values for the variables of the templates.
  complete({ variable, prefix }) {
    if (variable !== 'version') throw new NotFound();
    return matching(releases(load()).map(({ version }) => version), prefix);
  },

  // Returns the current versions of resources with subscribers. Optional, but cheaper than reading them.
  versions(uris) {
    const digests = new Map(releases(load()).map(({ version, text }) => [version, digest(encode(text))]));
    return uris.map((uri) => digests.get(uri.replace(RELEASES, '').replace(/\/json$/, '')) ?? null);
  },

  // Searches the texts of the releases. The host merges the results of all providers.
  search(query) {
    const hits = releases(load()).map((release) => ({ entry: entry(release), excerpt: excerpt(release, query.text) }));
    const found = hits.filter((hit) => hit.excerpt !== undefined && matches(query, hit.entry));
    return found.slice(0, query.limit);
  },

  tools: {
    // `input` becomes the schema of the arguments, and `output` that of the structured result.
    compare_releases: {
      title: 'Compare releases',
      description: 'Lists what changed after one release, up to and including another.',
      ...HINTS,
      input: {
        from: { type: 'string', description: 'The older version.' },
        to: { type: 'string', description: 'The newer version.' },
      },
      output: { changes: { type: 'array', items: CHANGE } },
      call({ from, to }) {
        const found = releases(load());
        const versions = found.map(({ version }) => version);
        const unknown = [from, to].find((version) => !versions.includes(version));
        if (unknown !== undefined) {
          const known = versions.join(', ');
          return { content: `There is no release \`${unknown}\`. Known releases: ${known}.`, isError: true };
        }
        const changes = found.slice(versions.indexOf(to), versions.indexOf(from)).flatMap(changesIn);
        const lines = changes.map(({ version, kind, item }) => `${version} ${kind}: ${item}`);
        return { structured: { changes }, content: lines.join('\n') || 'Nothing changed.' };
      },
    },

    // Asks the user. `input` ends the call, and the host calls the tool again with the answer.
    draft_release: {
      title: 'Draft a release',
      description: 'Turns the unreleased changes into a release, after asking for its version.',
      ...HINTS,
      call(_, context) {
        const release = find('Unreleased');
        if (!release) return { content: 'There is nothing to release.', isError: true };
        const state = digest(encode(release.text));
        if (!context.input) {
          const schema = { version: { type: 'string', description: 'Such as 1.2.0' } };
          return input({ version: elicit({ message: 'Which version is released?', schema }) }, { state });
        }
        const form = context.input.accepted('version');
        if (!form) return 'No release was drafted.';
        if (context.input.state !== state) return { content: 'The changelog has changed: draft again.', isError: true };
        return release.text.replace(/^.*/, () => `## [${form.version}]`);
      },
    },
  },

  prompts: {
    announce_release: {
      title: 'Announce a release',
      description: 'Writes an announcement of a release.',
      arguments: {
        version: {
          description: 'The version to announce.',
          required: true,
          complete: (prefix) => matching(releases(load()).map(({ version }) => version), prefix),
        },
        tone: {
          description: 'Such as friendly or formal.',
          complete: (prefix) => matching(['friendly', 'formal'], prefix),
        },
      },
      get({ version, tone }) {
        const release = find(version);
        if (!release) throw new Invalid(`there is no release \`${version}\``);
        const style = tone ? `, in a ${tone} tone` : '';
        const request =
          `Write an announcement of release ${version} for its users${style}. ` +
          'Name the most important change first.';
        const embedded = { uri: RELEASES + version, mimeType: 'text/markdown', body: release.text };
        return { description: `Announcement of release ${version}`, messages: [request, { embedded }] };
      },
    },
  },
});

const find = (wanted) => releases(load()).find(({ version }) => version === wanted);

// Every change of a release, with its version.
function changesIn(release) {
  const { version } = release;
  return changesOf(release).flatMap(({ kind, items }) => items.map((item) => ({ version, kind, item })));
}

function entry({ version, date, text }) {
  const bytes = encode(text);
  return {
    uri: RELEASES + version,
    name: version,
    title: `Release ${version}`,
    mimeType: 'text/markdown',
    size: bytes.length,
    version: digest(bytes),
    details: { kind: 'release', lastModified: date && `${date}T00:00:00Z` },
  };
}

// Loads the file in the granted folder, or the sample if no folder is granted. Other problems are returned as errors.
function load() {
  const path = `${FOLDER}/${setting('file')}`;
  if (!granted(FOLDER)) {
    info(`${FOLDER} is not granted: showing the sample`);
    return SAMPLE;
  }
  let bytes;
  try {
    bytes = readFile(path);
  } catch (error) {
    throw new Failed(error.message);
  }
  try {
    return decode(bytes);
  } catch {
    throw new Failed(`${path} is not UTF-8`);
  }
}
