// Reads files in granted folders with WASI, since the JavaScript engine has no file system API.

import { getDirectories } from 'wasi:filesystem/preopens@0.2.6';

import { Denied, Failed, FileNotFound } from './errors.js';
import { decode } from './utf8.js';

const CHUNK_SIZE = 1 << 20;

export function granted(folder) {
  return getDirectories().some(([, name]) => name === folder);
}

export function readFile(path) {
  const file = open(path);
  try {
    return readAll(file, path);
  } finally {
    file[Symbol.dispose]?.();
  }
}

export function readText(path) {
  const bytes = readFile(path);
  try {
    return decode(bytes);
  } catch {
    throw new Failed(`${path} is not UTF-8`);
  }
}

// Opens a path relative to the innermost granted folder that contains it.
function open(path) {
  const inside = (folder) => path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
  const folders = getDirectories().filter(([, name]) => inside(name));
  folders.sort(([, a], [, b]) => b.length - a.length);
  if (folders.length === 0) throw new Denied(`${path} is not in a granted folder`);
  const [folder, name] = folders[0];
  const rest = path.slice(name.length).replace(/^\/+/, '') || '.';
  return withErrors(path, () => folder.openAt({ symlinkFollow: true }, rest, {}, { read: true }));
}

function readAll(file, path) {
  const chunks = [];
  let length = 0;
  for (let end = false; !end; ) {
    const [chunk, last] = withErrors(path, () => file.read(CHUNK_SIZE, length));
    chunks.push(chunk);
    length += chunk.length;
    end = last || chunk.length === 0;
  }
  const bytes = new Uint8Array(length);
  chunks.reduce((at, chunk) => (bytes.set(chunk, at), at + chunk.length), 0);
  return bytes;
}

// Converts WASI errors. They are thrown as the name of the error or, by some engines, as an object with the name.
function withErrors(path, attempt) {
  try {
    return attempt();
  } catch (thrown) {
    const code = thrown?.payload ?? thrown;
    const text = `cannot read ${path}: ${code}`;
    if (code === 'no-entry' || code === 'not-directory') throw new FileNotFound(text);
    if (code === 'access' || code === 'not-permitted') throw new Denied(text);
    throw new Failed(text);
  }
}
