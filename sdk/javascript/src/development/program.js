// Loads the program: the bundle of `bundle.js --program`, from the folder that `larder dev` grants.

import * as httpClient from 'larder:provider/http-client@0.1.0';
import * as keyValue from 'larder:provider/key-value@0.1.0';
import * as providerHost from 'larder:provider/provider-host@0.1.0';
import * as preopens from 'wasi:filesystem/preopens@0.2.6';
import * as filesystem from 'wasi:filesystem/types@0.2.6';

import { granted, readText } from '../files.js';
import { error as logError } from '../host.js';
import { located, SDK, thrownAt } from '../location.js';

const FOLDER = '/larder-dev';

const HOST = {
  'larder:provider/http-client@0.1.0': httpClient,
  'larder:provider/key-value@0.1.0': keyValue,
  'larder:provider/provider-host@0.1.0': providerHost,
  'wasi:filesystem/preopens@0.2.6': preopens,
  'wasi:filesystem/types@0.2.6': filesystem,
};

// What QuickJS calls the source of `eval`.
const BUNDLE = '<input>';

let isLoading = false;

/** Returns a function that loads the program once, and returns its exports, or why it cannot be loaded. */
export function program(moreOfHost) {
  const modules = Object.entries({ ...HOST, ...moreOfHost }).map(([name, module]) => [name, withoutHostAtTop(module)]);
  let loaded;
  return (isSilent) => {
    loaded ??= load(Object.fromEntries(modules));
    if (loaded.log && !isSilent) {
      logError(loaded.log);
      loaded.log = undefined;
    }
    return loaded;
  };
}

function load(modules) {
  if (!granted(FOLDER)) {
    return { problem: 'this is the component of `larder dev`: deploy the one that `larder dev --once` builds' };
  }
  // For the messages of the program: its own files are none of this SDK.
  globalThis.larderSdk = SDK;
  const module = { exports: {} };
  isLoading = true;
  try {
    const source = readText(`${FOLDER}/program.js`);
    const run = (0, eval)(`(function (require, module, exports) {${source}\n})`);
    run((name) => required(modules, name), module, module.exports);
    return { exports: module.exports };
  } catch (thrown) {
    return describe(thrown);
  } finally {
    isLoading = false;
  }
}

function required(modules, name) {
  if (!modules[name]) throw new Error(`the world of the component does not have ${name}`);
  return modules[name];
}

// Returns the message, and what to log.
function describe(thrown) {
  const isError = thrown instanceof Error;
  const text = isError ? [thrown.name, thrown.message].filter(Boolean).map(String).join(': ') : `threw ${String(thrown)}`;
  const bundle = { file: BUNDLE, origins: globalThis.larderOrigins };
  const stack = isError ? located(thrown.stack ?? '', bundle) : '';
  return { problem: (text + thrownAt(thrown, bundle)).toWellFormed(), log: `cannot load the program: ${text}\n${stack}` };
}

/** There is no host when a component is built, so the top level of a module cannot call it. */
function withoutHostAtTop(module) {
  const isFunction = (name, value) => typeof value === 'function' && !/^[A-Z]/.test(name);
  const checked = (value) => (...given) => {
    if (isLoading) {
      throw new Error('the top level of a module cannot call the host: it runs when the component is built');
    }
    return value(...given);
  };
  const members = Object.entries(module).map(([name, value]) => [name, isFunction(name, value) ? checked(value) : value]);
  return Object.fromEntries(members);
}
