// Templates whose last variable takes slashes.

import { settled } from './values.js';

/** What a provider says of itself, with what its greedy templates claim: it is asked only for what it claims. */
export function about(provider) {
  const said = settled(provider.describe?.(), 'describe') ?? {};
  const claims = (settled(provider.greedy?.(), 'greedy') ?? []).map((template) => template.split('{')[0]);
  return { ...said, claims: [...new Set([...(said.claims ?? []), ...claims])] };
}

/** The match of a provider's own, or else that of its greedy templates. */
export function matched(provider, uri) {
  if (provider.matchUri) return provider.matchUri(uri) ?? null;
  for (const template of provider.greedy?.() ?? []) {
    const match = matchGreedy(template, uri);
    if (match) return match;
  }
  return null;
}

/** What a template makes of a URI if its last variable takes the rest of the path, slashes included. */
export function matchGreedy(template, uri) {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const literals = template.split(/\{\w+\}/);
  if (names.length === 0 || literals.some((text) => /[{}]/.test(text))) return undefined;
  // An earlier variable takes as much as it can, up to a slash.
  const value = (at) => (at < names.length - 1 ? '([^/]+)' : '([^]+)');
  const plain = (text) => text.replace(/[\\^$.*+?()[\]|/-]/g, '\\$&');
  const pattern = literals.map((text, at) => plain(text) + (at < names.length ? value(at) : '')).join('');
  const found = new RegExp(`^${pattern}$`).exec(uri);
  if (!found) return undefined;
  try {
    return { uriTemplate: template, variables: names.map((name, at) => [name, decodeURIComponent(found[at + 1])]) };
  } catch {
    // What is no text is no value.
    return undefined;
  }
}
