// `node bundle.js MAIN OUTPUT` bundles a provider, its npm packages and this SDK into one module, with esbuild. It also
// adds where each line came from, so that messages name the author's files (see src/location.js).
//
// With `--program`, the output is what the component of `larder dev` loads (see src/development). With `--check`, `tsc`
// checks the types at the same time, and the output is written only if there is no error.

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL, fileURLToPath } from 'node:url';

const given = process.argv.slice(2);
const [main, output] = given.filter((word) => !word.startsWith('--'));
const options = given.filter((word) => word.startsWith('--'));
const [isProgram, checksTypes] = ['--program', '--check'].map((option) => options.includes(option));
if (!main || !output || options.length !== isProgram + checksTypes) {
  console.error('usage: node bundle.js [--program] [--check] MAIN OUTPUT, such as `node bundle.js provider.ts build/provider.js`');
  process.exit(64);
}

const esbuild = await import(pathToFileURL(find('esbuild')));
const checked = checksTypes ? checkTypes() : true;

const { outputFiles } = await esbuild
  .build({
    entryPoints: [main],
    outfile: output,
    bundle: true,
    // A program is the body of a function.
    format: isProgram ? 'cjs' : 'esm',
    // What QuickJS has.
    target: 'es2024',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    // The host provides these.
    external: ['larder:*', 'wasi:*'],
    // Names in messages stay those of the source.
    keepNames: true,
    sourcemap: 'external',
    sourcesContent: false,
    write: false,
    logLevel: 'warning',
  })
  // esbuild has printed what is wrong.
  .catch(async () => {
    await checked;
    process.exit(1);
  });

// tsc has printed what is wrong.
if (!(await checked)) process.exit(1);

const text = (extension) => outputFiles.find(({ path }) => path.endsWith(extension)).text;
mkdirSync(dirname(output), { recursive: true });
// On the first line, so that no line moves.
const places = JSON.stringify(origins(JSON.parse(text('.map'))));
const strict = isProgram ? '"use strict";' : '';
writeFileSync(output, `${strict}globalThis.larderOrigins=${places};${text('.js')}`);

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
 * Converts a source map: the names of the sources, and for each place in the output where another line of a source
 * begins `[line, column, source, line of the source]`. The source is null for this SDK.
 */
function origins({ sources, mappings }) {
  const sdk = dirname(fileURLToPath(import.meta.url)) + sep;
  const names = sources.map((source) => {
    const path = resolve(dirname(output), source);
    return path.startsWith(sdk) ? null : relative('.', path).replaceAll(sep, '/');
  });
  const places = [];
  let [source, sourceLine] = [0, 0];
  for (const [at, line] of mappings.split(';').entries()) {
    let column = 0;
    for (const segment of line.split(',').filter(Boolean)) {
      const [columns, sourcesDelta = 0, linesDelta = 0] = decode(segment);
      column += columns;
      source += sourcesDelta;
      sourceLine += linesDelta;
      const [, , lastSource, lastLine] = places.at(-1) ?? [];
      // The lines of this SDK are never shown, so one entry is enough for all that follow each other.
      const isLine = lastSource === source && lastLine === sourceLine + 1;
      const isSame = names[source] === null ? names[lastSource] === null : isLine;
      if (!isSame) places.push([at + 1, column + 1, source, sourceLine + 1]);
    }
  }
  return { names, places };
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
