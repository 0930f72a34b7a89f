// SDK for the world `interactive-provider`. Types and documentation are in index.d.ts. It is not part of the main
// module: only components of that world can import the functions of host.js, and the others are smaller without it.

export * from '../index.js';

// In place of those of the main module.
export { defineProvider, prompt, setting, tool } from './define.js';

export * from './host.js';
export { elicit, elicitUrl, input, roots, sample } from './input.js';
export { APP_PAGE, appPage } from './tools.js';
