// Parses a changelog. This file does not depend on Larder.

// Used if no folder is granted.
export const SAMPLE = `\
# Changelog

## [Unreleased]

### Added

- A provider in each language.

## [0.2.0] - 2026-06-30

### Added

- Completion of versions.
- Each release as JSON,
  for programs.

### Fixed

- A release without a date is no longer left out.

## [0.1.0] - 2026-05-12

### Added

- The releases of a changelog, as resources.

[0.2.0]: https://example.org/changelog/compare/0.1.0...0.2.0
`;

export interface Release {
  version: string;
  date: string | null;
  // From its `## ` line to the next one, with a newline at the end.
  text: string;
}

// The list below a `### ` line.
export interface Changes {
  kind: string;
  items: string[];
}

// Matches `[1.0.0] - 2026-05-12` or `1.0.0`. The version must not need percent-encoding in a URI.
const TITLE = /^(?:\[([A-Za-z0-9._~-]+)\]|([A-Za-z0-9._~-]+)(?= |$))[ -]*(\d{4}-\d\d-\d\d(?= |$))?/;

// Returns the releases in the order of the text.
export function releases(text: string): Release[] {
  const found: Release[] = [];
  let inside: Release | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('## ')) {
      const [, bracketed, bare, date = null] = line.slice(3).trim().match(TITLE) ?? [];
      const version = bracketed ?? bare;
      const isNew = version !== undefined && found.every((old) => old.version !== version);
      inside = isNew ? { version, date, text: '' } : undefined;
      if (inside) found.push(inside);
    } else if (line.startsWith('[') && line.includes(']: ')) {
      // Link definitions are not part of a release.
      inside = undefined;
    }
    if (inside) inside.text += `${line}\n`;
  }
  return found.map((release) => ({ ...release, text: `${release.text.trimEnd()}\n` }));
}

// Returns the kind and the items of each list below a `### ` line.
export function changesOf({ text }: Release): Changes[] {
  const changes: Changes[] = [];
  for (const line of text.split('\n')) {
    const items = changes.at(-1)?.items;
    if (line.startsWith('### ')) {
      changes.push({ kind: line.slice(4).trim(), items: [] });
    } else if (items && line.startsWith('- ')) {
      items.push(line.slice(2).trim());
    } else if (items?.length && line.startsWith('  ')) {
      // An indented line continues the item above.
      items.push(`${items.pop()} ${line.trim()}`);
    }
  }
  return changes;
}

// Formats version, date and changes as JSON.
export const asJson = (release: Release): string => {
  const { version, date } = release;
  return JSON.stringify({ version, date, changes: changesOf(release) });
};

// Returns the first line that contains the text, without regard to the case of ASCII letters.
export function excerpt({ text }: Release, wanted: string): string | undefined {
  const lower = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return text.split('\n').find((line) => lower(line).includes(lower(wanted)))?.trim();
}

// A hash of the text (32-bit FNV-1a, which is short to implement in every language).
export function digest(bytes: Uint8Array): string {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}
