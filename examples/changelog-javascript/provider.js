// Provides the releases of a changelog (keepachangelog.com) as resources. The same provider exists in five languages.

import {
  decode,
  defineProvider,
  encode,
  Failed,
  granted,
  info,
  matching,
  NotFound,
  paginate,
  readFile,
  setting,
} from 'larder-provider';

import { asJson, digest, releases, SAMPLE } from './changelog.js';

// The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
const FOLDER = '/changelog';
const RELEASES = 'changelog://releases/';
const RELEASE = 'changelog://releases/{version}';
const AS_JSON = 'changelog://releases/{version}/json';

export const { resourceProvider, completionProvider, versionProvider } = defineProvider({
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
    const wanted = request.var('version');
    const release = releases(load()).find(({ version }) => version === wanted);
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
});

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
  const path = `${FOLDER}/${setting('file', 'CHANGELOG.md')}`;
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
