// Defines the provider of a component, and what packages expect of browsers and of Node where the engine does not have
// it.

import { createExports } from './exports.js';
import { log } from './host.js';
import { TextDecoder, TextEncoder } from './utf8.js';

let isDefined = false;

/** From now on, `console` writes to the log. */
export function startConsole() {
  isDefined = true;
}

/** Creates the exports of a component from a provider. Only `read` is required. */
export function defineProvider(provider) {
  startConsole();
  return createExports(provider, (text, level = 'error') => log(level, text));
}

/** Writes to the log of the host. Until the provider is defined, the component is built, and there is no host. */
function createConsole() {
  const shown = (value) => {
    if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
    if (typeof value !== 'object' || value === null) return String(value);
    try {
      return JSON.stringify(value);
    } catch {
      return String(value);
    }
  };
  const print = (level) => (...values) => {
    if (isDefined) log(level, values.map(shown).join(' '));
  };
  const [debug, info, warn, error] = ['debug', 'info', 'warn', 'error'].map(print);
  return { debug, info, warn, error, log: info, trace: debug, dir: info };
}

const fromForm = (text) => decodeURIComponent(text.replaceAll('+', ' ').replace(/%(?![0-9a-f]{2})/gi, '%25'));
const byCode = (character) => `%${character.charCodeAt().toString(16).toUpperCase()}`;
const toForm = (text) => encodeURIComponent(text).replaceAll('%20', '+').replace(/[!'()~]/g, byCode);

function parsed(search) {
  const parts = search.replace(/^\?/, '').split('&').filter(Boolean);
  return parts.map((part) => part.split(/=(.*)/s, 2).map(fromForm)).map(([name, value = '']) => [name, value]);
}

/** What packages need of the class with this name. */
class URLSearchParams {
  #pairs = [];

  constructor(given = '') {
    const pairs = typeof given === 'string' ? parsed(given) : given[Symbol.iterator] ? given : Object.entries(given);
    for (const [name, value] of pairs) this.append(name, value);
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    this.#pairs.push([String(name), String(value)]);
  }

  delete(name) {
    this.#pairs = this.#pairs.filter(([other]) => other !== name);
  }

  get(name) {
    return this.getAll(name)[0] ?? null;
  }

  getAll(name) {
    return this.#pairs.filter(([other]) => other === name).map(([, value]) => value);
  }

  has(name) {
    return this.getAll(name).length > 0;
  }

  set(name, value) {
    const at = this.#pairs.findIndex(([other]) => other === name);
    if (at < 0) return this.append(name, value);
    const before = this.#pairs.slice(0, at);
    const after = this.#pairs.slice(at + 1).filter(([other]) => other !== name);
    this.#pairs = [...before, [name, String(value)], ...after];
  }

  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  }

  forEach(each) {
    for (const [name, value] of this.#pairs) each(value, name, this);
  }

  keys() {
    return this.#pairs.map(([name]) => name).values();
  }

  values() {
    return this.#pairs.map(([, value]) => value).values();
  }

  entries() {
    return this.#pairs.map((pair) => [...pair]).values();
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    return this.#pairs.map((pair) => pair.map(toForm).join('=')).join('&');
  }
}

const PARTS = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is;
const AUTHORITY = /^(?:([^:@]*)(?::([^@]*))?@)?(\[[0-9a-f:.]+\]|[^:[\]@\s<>^|%]*)(?::(\d*))?$/i;
const PORTS = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
const quoted = (text) => text.toWellFormed().replace(/[^\x21-\x7e]|["<>`{}]/gu, encodeURIComponent);

/** The path without `.` and `..`. */
function normalized(path) {
  const parts = [];
  const given = path.split('/').slice(1);
  for (const [at, part] of given.entries()) {
    const isLast = at === given.length - 1;
    if (part === '..') parts.pop();
    if (part !== '..' && part !== '.') parts.push(part);
    else if (isLast) parts.push('');
  }
  return `/${parts.join('/')}`;
}

/** What packages need of the class with this name. Names of hosts in other scripts than Latin are not converted. */
class URL {
  #search = '';

  constructor(given, base) {
    const invalid = () => new TypeError(`Invalid URL: ${given}`);
    const [, scheme, authority, path, search, hash] = PARTS.exec(String(given).trim().replace(/[\t\r\n]/g, '')) ?? [];
    if (!scheme && base === undefined) throw invalid();
    const from = scheme ? undefined : new URL(base);
    this.protocol = scheme ? `${scheme.toLowerCase()}:` : from.protocol;
    const isSpecial = this.protocol in PORTS;
    if (authority === undefined && from) {
      const { username, password, hostname, port } = from;
      Object.assign(this, { username, password, hostname, port });
    } else {
      const [, username = '', password = '', hostname = '', port = ''] = AUTHORITY.exec(authority ?? '') ?? [undefined];
      if (!AUTHORITY.test(authority ?? '') || Number(port) > 65535) throw invalid();
      if (isSpecial && this.protocol !== 'file:' && !hostname) throw invalid();
      const host = isSpecial ? hostname.toLowerCase() : hostname;
      Object.assign(this, { username, password, hostname: host, port: port === PORTS[this.protocol] ? '' : port });
    }
    const isHierarchical = isSpecial || authority !== undefined || path.startsWith('/') || from?.pathname.startsWith('/');
    const isRelative = from && authority === undefined && !path.startsWith('/');
    const folder = isRelative ? from.pathname.replace(/[^/]*$/, '') : '';
    const whole = isRelative && !path ? from.pathname : folder + quoted(path);
    const opaque = path.toWellFormed().replace(/[^\x20-\x7e]/gu, encodeURIComponent);
    this.pathname = isHierarchical ? normalized(whole.startsWith('/') ? whole : `/${whole}`) : opaque;
    this.#hasAuthority = isSpecial || authority !== undefined || Boolean(from?.#hasAuthority);
    this.search = search ?? (isRelative && !path ? from.search : '');
    this.hash = hash ? `#${quoted(hash)}` : '';
  }

  #hasAuthority;
  #parameters;

  get search() {
    if (this.#parameters && String(this.#parameters) !== String(new URLSearchParams(this.#search))) {
      this.#search = this.#parameters.size > 0 ? `?${this.#parameters}` : '';
    }
    return this.#search;
  }

  set search(given) {
    const search = quoted(String(given).replace(/^\?/, ''));
    this.#search = search && `?${search}`;
    this.#parameters = undefined;
  }

  get searchParams() {
    return (this.#parameters ??= new URLSearchParams(this.#search));
  }

  get host() {
    return this.hostname + (this.port && `:${this.port}`);
  }

  get origin() {
    return this.protocol in PORTS && this.protocol !== 'file:' ? `${this.protocol}//${this.host}` : 'null';
  }

  get href() {
    const user = this.username || this.password ? `${this.username}${this.password && `:${this.password}`}@` : '';
    const authority = this.#hasAuthority ? `//${user}${this.host}` : '';
    return this.protocol + authority + this.pathname + this.search + this.hash;
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }

  static canParse(given, base) {
    return URL.parse(given, base) !== null;
  }

  static parse(given, base) {
    try {
      return new URL(given, base);
    } catch {
      return null;
    }
  }
}

// A call ends before a timer could end, because no function is asynchronous.
const timer = () => ({ ref() {}, unref() {}, hasRef: () => false });
const timers = { setTimeout: timer, setInterval: timer, setImmediate: timer };
const cleared = { clearTimeout() {}, clearInterval() {}, clearImmediate() {} };
const process = { env: {}, nextTick: (run, ...given) => queueMicrotask(() => run(...given)) };
const all = { console: createConsole(), TextEncoder, TextDecoder, URL, URLSearchParams, process, ...timers, ...cleared };
for (const [name, value] of Object.entries(all)) globalThis[name] ??= value;
