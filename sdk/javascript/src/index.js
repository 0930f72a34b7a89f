// SDK for Larder resource providers: `export const { … } = defineProvider({ … })`. Types and documentation are in
// index.d.ts.

import { warn } from './host.js';
import { paginate as paginateWith } from './page.js';

export { defineProvider } from './define.js';
export { Denied, Failed, Invalid, LarderError, NotFound, NotModified, Unavailable } from './errors.js';
export { granted, readFile, readText } from './files.js';
export { matchGreedy } from './greedy.js';
export * from './host.js';
export * as http from './http.js';
export * as keyValue from './key-value.js';
export { matches, matching } from './page.js';
export { decode, encode } from './utf8.js';

export const paginate = (entries, query) => paginateWith(entries, query, warn);
