#!/usr/bin/env node
// `node build.js --js provider.js --world provider -o notes.wasm` makes a component with componentize-qjs, which the
// project installs. The options are those of componentize-qjs. This script adds the contract (`--wit`), `--sync`, and
// `--module-root`: the folder below which all dependencies are, also those that a workspace shares or that are linked.
//
// `--opt-size` is not among them: a component is a quarter smaller with it, but a read takes a quarter more CPU time.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, parse, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const COMPILER = 'componentize-qjs';

const project = realpathSync('.');
const options = process.argv.slice(2);
const has = (name) => options.some((option) => option === name || option.startsWith(`${name}=`));

const compiler = find(COMPILER, project);
if (!compiler) {
  fail(`${COMPILER} is not installed in ${project} or a folder above it: run \`npm install\` (or pnpm, yarn)`);
}
if (!has('--wit') && !has('-w')) options.unshift('--wit', join(dirname(fileURLToPath(import.meta.url)), 'wit'));
if (!has('--sync')) options.push('--sync');
if (!has('--module-root')) options.push('--module-root', commonFolder([...dependencies(project)]));

const { bin } = manifest(compiler);
const program = join(compiler, typeof bin === 'string' ? bin : bin[COMPILER]);
const { status, error } = spawnSync(process.execPath, [program, ...options], { stdio: 'inherit' });
if (error) fail(`cannot run ${program}: ${error.message}`);
process.exitCode = status ?? 1;

function fail(message) {
  console.error(message);
  process.exit(1);
}

function manifest(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch (error) {
    return fail(`cannot read ${join(folder, 'package.json')}: ${error.message}`);
  }
}

/** Finds an installed package as Node does: in `node_modules` of the folder, or of a folder above it. */
function find(name, folder) {
  for (let at = folder; ; at = dirname(at)) {
    const found = join(at, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return found;
    if (at === parse(at).root) return undefined;
  }
}

/**
 * Collects the folder of a package, those of all its dependencies, and those of the links that lead to them. The
 * project may also import what only its build needs, because the component contains it.
 */
function dependencies(folder, found = new Set()) {
  found.add(folder);
  const { dependencies: own, devDependencies, optionalDependencies, peerDependencies } = manifest(folder);
  const development = folder === project ? devDependencies : {};
  for (const name of Object.keys({ ...own, ...development, ...optionalDependencies, ...peerDependencies })) {
    const link = name === COMPILER ? undefined : find(name, folder);
    if (!link) continue;
    const real = realpathSync(link);
    if (!found.has(real)) dependencies(real, found);
    found.add(link);
  }
  return found;
}

/** Returns the deepest folder that contains all of these. */
function commonFolder(folders) {
  const contains = (folder, inner) => inner === folder || inner.startsWith(folder.endsWith(sep) ? folder : folder + sep);
  let common = folders[0];
  while (!folders.every((folder) => contains(common, folder)) && common !== parse(common).root) common = dirname(common);
  return common;
}
