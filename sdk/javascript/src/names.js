// Names in messages: short forms, and suggestions for misspelt ones.

/** The maximum length of a value or a name in a message. */
export const MAX_SHOWN = 60;

/** Truncates a text that is too long for a message. */
export function shorten(text, end = '') {
  if (text.length <= MAX_SHOWN) return text;
  return `${text.slice(0, MAX_SHOWN - 1 - end.length)}…${end}`;
}

/** Describes an unknown name: with the nearest known name, or with all known names. */
export function unknown(name, known, noun = 'property') {
  const near = misspelt(name, known) ?? known.find((other) => contains(name, other) || contains(other, name));
  const help = near ? `did you mean \`${near}\`?` : `known are ${known.map((other) => `\`${other}\``).join(', ')}`;
  return `unknown ${noun} \`${shorten(name)}\`: ${help}`;
}

const normalize = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

const contains = (name, part) => normalize(part).length > 2 && normalize(name).includes(normalize(part));

/** Returns the known name of which a name looks like a misspelling. */
export function misspelt(name, known) {
  if (name.length > MAX_SHOWN) return undefined;
  const distances = known.map((other) => [distance(normalize(name), normalize(other)), other]);
  const near = distances.filter(([edits, other]) => edits <= (other.length < 6 ? 1 : 2));
  return near.sort(([a], [b]) => a - b)[0]?.[1];
}

// The number of characters to insert, delete, replace or exchange with their neighbour.
function distance(a, b) {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i += 1) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced);
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (exchanged) rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.length][b.length];
}
