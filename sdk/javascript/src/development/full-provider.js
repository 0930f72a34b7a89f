// The component of `larder dev` for the world `full-provider`, as provider.js.

export * from './provider.js';
