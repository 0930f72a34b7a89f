// `node bundle.js MAIN OUTPUT` bundles a provider, its npm packages and this SDK into one module, with esbuild. It also
// adds what packages expect of browsers and of Node, and where each line came from, so that messages name the author's
// files (see src/location.js).
//
// With `--program`, the output is what the component of `larder dev` loads (see src/development). With `--check`, `tsc`
// checks the types at the same time, and the output is written only if there is no error. With `--native`, the output is
// a module for Node, for the tests of the provider: it has a host of its own.

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL, fileURLToPath } from 'node:url';

const SDK = dirname(fileURLToPath(import.meta.url)) + sep;

const given = process.argv.slice(2);
const [main, output] = given.filter((word) => !word.startsWith('--'));
const options = given.filter((word) => word.startsWith('--'));
const [isProgram, checksTypes, isNative] = ['--program', '--check', '--native'].map((option) => options.includes(option));
if (!main || !output || options.length !== isProgram + checksTypes + isNative || (isProgram && isNative)) {
  console.error(
    'usage: node bundle.js [--program | --native] [--check] MAIN OUTPUT, such as `node bundle.js provider.ts build/provider.js`',
  );
  process.exit(64);
}

/** What the modules of the host do in Node. Only the source of these functions is used. */
const NATIVE_HOST = {
  'larder:provider/provider-host': {
    getCaller: () => null,
    requestMetadata: () => [],
    setting: (name) => process.env[`LARDER_SETTING_${name.toUpperCase().replaceAll('-', '_')}`] ?? null,
    log: (level, message) => console.error(`${level}: ${message}`),
    resourceUpdated: () => {},
    resourcesChanged: () => {},
    progress: () => {},
    cancelled: () => false,
    timeLeftMs: () => Infinity,
  },
  'larder:provider/interaction-host': {
    clientSupports: () => true,
    clientLogLevel: () => null,
    logToClient: (severity, logger, data) => console.error(`${severity}: ${data}`),
    toolsChanged: () => {},
    promptsChanged: () => {},
  },
  'larder:provider/http-client': {
    send: ({ url }) => {
      throw { tag: 'unreachable', val: `${url}: HTTP is available only in a host` };
    },
    sendAll: (requests) =>
      requests.map((request) => {
        try {
          return { tag: 'ok', val: $send(request) };
        } catch (val) {
          return { tag: 'err', val };
        }
      }),
  },
  'larder:provider/key-value': {
    get: (bucket, key) => stored.get(`${bucket} ${key}`) ?? null,
    set: (bucket, key, value) => void stored.set(`${bucket} ${key}`, value),
    delete: (bucket, key) => void stored.delete(`${bucket} ${key}`),
    compareAndSwap: (bucket, key, expected, value) => {
      const current = $get(bucket, key);
      if (String(current) !== String(expected)) return false;
      if (value === null) $delete(bucket, key);
      else $set(bucket, key, value);
      return true;
    },
    listKeys: (bucket, prefix) => {
      const keys = [...stored.keys()].filter((key) => key.startsWith(`${bucket} ${prefix}`));
      return { keys: keys.map((key) => key.slice(bucket.length + 1)).sort(), nextCursor: null };
    },
  },
  'wasi:filesystem/preopens': {
    // Files have the paths of the machine.
    getDirectories: () => {
      const open = (path) => {
        try {
          return fs.openSync(path);
        } catch ({ code }) {
          throw { ENOENT: 'no-entry', ENOTDIR: 'not-directory', EACCES: 'access' }[code] ?? code;
        }
      };
      const reader = (file) => ({
        read(length, offset) {
          const bytes = new Uint8Array(length);
          const count = fs.readSync(file, bytes, 0, length, offset);
          return [bytes.subarray(0, count), count === 0];
        },
        [Symbol.dispose ?? '@@dispose']: () => fs.closeSync(file),
      });
      return [[{ openAt: (follow, path) => reader(open(`/${path}`)) }, '/']];
    },
  },
};

/** An esbuild plugin that provides the modules of the host. */
const nativeHost = {
  name: 'native-host',
  setup(build) {
    const namespace = 'native-host';
    build.onResolve({ filter: /^(larder|wasi):/ }, ({ path }) => ({ path, namespace }));
    build.onLoad({ filter: /^/, namespace }, ({ path }) => ({ contents: nativeModule(path) }));
  },
};

const esbuild = await import(pathToFileURL(find('esbuild')));
const checked = checksTypes ? checkTypes() : true;

const { outputFiles, warnings } = await esbuild
  .build({
    // src/define.js runs before the packages, and defines what they expect of browsers and of Node.
    stdin: { contents: `import ${path('src/define.js', SDK)}; export * from ${path(main)};`, resolveDir: '.' },
    outfile: output,
    bundle: true,
    // A program is the body of a function.
    format: isProgram ? 'cjs' : 'esm',
    // What QuickJS has.
    target: 'es2024',
    // Many packages have files for browsers that need less than those for Node.
    platform: 'browser',
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    // The host provides these.
    external: isNative ? ['node:*'] : ['larder:*', 'wasi:*'],
    plugins: isNative ? [nativeHost] : [],
    // Names in messages stay those of the source.
    keepNames: true,
    sourcemap: isNative ? 'inline' : 'external',
    sourcesContent: false,
    write: false,
    logLevel: 'silent',
  })
  .catch(async ({ errors, message }) => {
    print('error', errors ?? [{ text: message }]);
    await checked;
    process.exit(1);
  });
print('warning', warnings);

// tsc has printed what is wrong.
if (!(await checked)) process.exit(1);

const text = (extension) => outputFiles.find(({ path }) => path.endsWith(extension)).text;
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, isNative ? text('.js') : withOrigins());

/** The path of a file, as a literal in JavaScript. */
function path(file, folder = '.') {
  return JSON.stringify(resolve(folder, file));
}

/** The bundle with the places of its lines. They are on the first line, so that no line moves. */
function withOrigins() {
  const places = JSON.stringify(origins(JSON.parse(text('.map'))));
  const strict = isProgram ? '"use strict";' : '';
  return `${strict}globalThis.larderOrigins=${places};${text('.js')}`;
}

/** Prints messages of esbuild. Its advice to bundle for Node would not help. */
function print(kind, messages) {
  for (const message of messages) {
    const [, name] = /^Could not resolve "([^"]+)"/.exec(message.text) ?? [];
    if (!name || !isBuiltin(name)) continue;
    message.text += ', a module of Node, which a component does not have';
    message.notes = [];
  }
  const formatted = esbuild.formatMessagesSync(messages, { kind, color: process.stderr.isTTY });
  process.stderr.write(formatted.join(''));
}

/** Runs the TypeScript compiler of the project. */
function checkTypes() {
  const manifest = find('typescript/package.json');
  const { bin } = createRequire(import.meta.url)(manifest);
  const compiler = spawn(process.execPath, [join(dirname(manifest), bin.tsc)], { stdio: 'inherit' });
  return new Promise((ended) => {
    compiler.on('error', (error) => ended(console.error(`cannot run tsc: ${error.message}`)));
    compiler.on('exit', (code) => ended(code === 0));
  });
}

/** Finds a module of a package of the project, which may only be linked with this one. */
function find(name) {
  try {
    return createRequire(resolve('package.json')).resolve(name);
  } catch {
    console.error(`${name.split('/')[0]} is not installed in ${process.cwd()} or a folder above it: run \`npm install\` (or pnpm, yarn)`);
    return process.exit(1);
  }
}

/**
 * Converts a source map to the names of the sources, null for those of this SDK, and the places at which another line of
 * a source begins, in the form that src/location.js reads.
 */
function origins({ sources, mappings }) {
  const names = sources.map((source) => {
    const file = resolve(dirname(output), source);
    return file.startsWith(SDK) ? null : relative('.', file).replaceAll(sep, '/');
  });
  const rows = [];
  let [source, sourceLine] = [0, 0];
  let [lastSource, lastLine] = [];
  for (const line of mappings.split(';')) {
    const places = [];
    let column = 0;
    for (const segment of line.split(',').filter(Boolean)) {
      const [columns, sourcesDelta = 0, linesDelta = 0] = decode(segment);
      column += columns;
      source += sourcesDelta;
      sourceLine += linesDelta;
      // The lines of this SDK are never shown, so one entry is enough for all that follow each other.
      const isLine = lastSource === source && lastLine === sourceLine + 1;
      const isSame = names[source] === null ? names[lastSource] === null : isLine;
      if (isSame) continue;
      [lastSource, lastLine] = [source, sourceLine + 1];
      places.push([column + 1, lastSource, lastLine].map((number) => number.toString(36)).join(' '));
    }
    rows.push(places.join(';'));
  }
  return { names, places: rows.join('\n') };
}

/** Decodes the numbers of a segment: base 64, 5 bits per character, the sign in the lowest bit. */
function decode(segment) {
  const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** The source of a module of the host for tests in Node. `globalThis.larderHost` can replace its functions. */
function nativeModule(name) {
  const functions = NATIVE_HOST[name.split('@')[0]] ?? {};
  const exported = Object.entries(functions).map(
    ([name, implementation]) =>
      `const $${name} = (...given) => (globalThis.larderHost?.${name} ?? (${implementation}))(...given); export { $${name} as ${name} };`,
  );
  return `import fs from 'node:fs'; const stored = new Map(); ${exported.join('\n')}`;
}
