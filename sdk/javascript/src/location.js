// Finds the author's code that a message refers to. Each engine has its own format of stacks.

const FRAME = /^(?:\s*at .*?|[^\s@]*@)([^\s()]+):(\d+):\d+\)?$/gm;

const frames = (stack) => Array.from(String(stack).matchAll(FRAME), ([, file, line]) => ({ file, line }));

// The folder of this SDK. Unknown if a bundler moved its files.
const SDK = /^(.+\/)location\.js$/.exec(frames(new Error().stack)[0]?.file)?.[1];

// Not this SDK, and not the engine, whose frames are in files such as `<input>` or `node:url`.
const isAuthors = ({ file }) => !/^(<|node:)/.test(file) && !(SDK && file.startsWith(SDK));

const format = ({ file, line }) => ` (${file.replace(/^(file:\/\/)?\//, '')}:${line})`;

/** Where an error was thrown: ` (provider.js:12)`, or an empty text if it is not known. */
export function thrownAt(error) {
  const frame = frames(error?.stack).find(isAuthors);
  return frame ? format(frame) : '';
}

/** Where a function is defined. QuickJS has these properties; in other engines the place is not known. */
export function definedAt({ fileName, lineNumber } = {}) {
  return typeof fileName === 'string' && lineNumber ? format({ file: fileName, line: lineNumber }) : '';
}
