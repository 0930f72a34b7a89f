// Finds the author's code that a message refers to. Each engine has its own format of stacks.

const FRAME = /^(?:\s*at .*?|[^\s@]*@)([^\s()]+):(\d+):(\d+)\)?$/gm;

const toFrame = ([, file, line, column]) => ({ file, line, column });
const frames = (stack) => Array.from(String(stack).matchAll(FRAME), toFrame);

// This file. A bundler joins it with the others, and bundle.js adds `larderOrigins`: the names of the sources, and a text
// with one line for each line of the bundle. It has, separated by `;`, the places at which another line of a source begins:
// the column, the number of the source and the line of the source, to the base 36. An object for each place would take
// many times the memory of the component.
const HERE = frames(new Error().stack)[0]?.file;
const BUNDLE = { file: HERE, origins: globalThis.larderOrigins };

/** The folder of this SDK. Unknown in a bundle, except in that of `larder dev`. */
export const SDK = /^(.+\/)location\.js$/.exec(HERE)?.[1] ?? globalThis.larderSdk;

// Not this SDK, and not the engine, whose frames are in files such as `<input>` or `node:url`.
const isAuthors = ({ file }) => file !== null && !/^(<|node:)/.test(file) && !(SDK && file.startsWith(SDK));

const format = ({ file, line }) => ` (${file.replace(/^(file:\/\/)?\//, '')}:${line})`;

/** The place in the source of a place in the bundle. The file is null for a file of this SDK. */
function origin({ file, line, column }, bundle = BUNDLE) {
  const { origins } = bundle;
  if (!origins || file !== bundle.file) return { file, line };
  const [source, sourceLine] = lastPlace(origins.places.split('\n'), Number(line), Number(column));
  return source === undefined ? { file, line } : { file: origins.names[source], line: sourceLine };
}

/** The last place at or before this line and column: the number of the source and its line. */
function lastPlace(rows, line, column) {
  for (let at = Math.min(line, rows.length) - 1; at >= 0; at--) {
    const places = rows[at].split(';').map((place) => place.split(' ').map((number) => parseInt(number, 36)));
    const found = places.findLast(([begin]) => begin <= (at === line - 1 ? column : Infinity));
    if (found) return found.slice(1);
  }
  return [];
}

/** Where an error was thrown: ` (provider.js:12)`, or an empty text if it is not known. */
export function thrownAt(error, bundle) {
  const frame = frames(error?.stack)
    .map((at) => origin(at, bundle))
    .find(isAuthors);
  return frame ? format(frame) : '';
}

/** Where a function is defined. QuickJS has these properties; in other engines the place is not known. */
export function definedAt({ fileName, lineNumber, columnNumber = Infinity } = {}) {
  if (typeof fileName !== 'string' || !lineNumber) return '';
  const place = origin({ file: fileName, line: lineNumber, column: columnNumber });
  return place.file === null ? '' : format(place);
}

/** A stack with places in the source instead of the bundle. */
export function located(stack, bundle) {
  const replace = (frame, file, line, column) => {
    const place = origin({ file, line, column }, bundle);
    const shown = place.file === null ? 'larder-provider' : `${place.file}:${place.line}`;
    return place.file === file ? frame : frame.replace(`${file}:${line}:${column}`, () => shown);
  };
  return String(stack).replace(FRAME, replace);
}
