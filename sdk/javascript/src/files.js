// Files of granted folders. The engine has no file system of its own, so this is WASI's.

import { getDirectories } from 'wasi:filesystem/preopens@0.2.6';

import { Denied, Failed, NotFound } from './errors.js';
import { decode } from './utf8.js';

const PIECE = 1 << 20;

export function granted(folder) {
  return getDirectories().some(([, name]) => name === folder);
}

export function readFile(path) {
  const file = open(path);
  try {
    return all(file, path);
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

// Relative to the longest granted folder that the path is in.
function open(path) {
  const inside = (folder) => path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
  const folders = getDirectories().filter(([, name]) => inside(name));
  folders.sort(([, a], [, b]) => b.length - a.length);
  if (folders.length === 0) throw new Denied(`${path} is in no folder that was granted`);
  const [folder, name] = folders[0];
  const rest = path.slice(name.length).replace(/^\/+/, '') || '.';
  return tried(path, () => folder.openAt({ symlinkFollow: true }, rest, {}, { read: true }));
}

function all(file, path) {
  const pieces = [];
  let length = 0;
  for (let end = false; !end; ) {
    const [piece, last] = tried(path, () => file.read(PIECE, length));
    pieces.push(piece);
    length += piece.length;
    end = last || piece.length === 0;
  }
  const bytes = new Uint8Array(length);
  pieces.reduce((at, piece) => (bytes.set(piece, at), at + piece.length), 0);
  return bytes;
}

// What WASI throws is the name of an error, or in some engines an error that carries it.
function tried(path, attempt) {
  try {
    return attempt();
  } catch (thrown) {
    const code = thrown?.payload ?? thrown;
    const text = `cannot read ${path}: ${code}`;
    if (code === 'no-entry' || code === 'not-directory') throw new NotFound(text);
    if (code === 'access' || code === 'not-permitted') throw new Denied(text);
    throw new Failed(text);
  }
}
