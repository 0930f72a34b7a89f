// Greedy templates: their last variable also matches slashes.

import { call } from './call.js';

/**
 * The description of a provider, with the prefixes of its greedy templates as additional claims. Without a claim, the
 * host would not call `match-uri` for their URIs.
 */
export function description(provider) {
  const described = provider.describe ? call(provider, 'describe') : {};
  const claims = greedy(provider).map((template) => template.split('{')[0]);
  return { ...described, claims: [...new Set([...(described.claims ?? []), ...claims])] };
}

/** Matches a URI with the provider's `matchUri` or, if it has none, with its greedy templates. */
export function matchUri(provider, uri) {
  if (provider.matchUri) return call(provider, 'matchUri', uri);
  for (const template of greedy(provider)) {
    const match = matchGreedy(template, uri);
    if (match) return match;
  }
  return null;
}

const greedy = (provider) => (provider.greedy ? call(provider, 'greedy') : []);

/** Matches a URI with a template whose last variable matches the rest of the path, including slashes. */
export function matchGreedy(template, uri) {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const literals = template.split(/\{\w+\}/);
  if (names.length === 0 || literals.some((text) => /[{}]/.test(text))) return undefined;
  // Every variable except the last matches as much as possible, but no slash.
  const value = (index) => (index < names.length - 1 ? '([^/]+)' : '([^]+)');
  const escape = (text) => text.replace(/[\\^$.*+?()[\]|/-]/g, '\\$&');
  const pattern = literals.map((text, index) => escape(text) + (index < names.length ? value(index) : '')).join('');
  const found = new RegExp(`^${pattern}$`).exec(uri);
  if (!found) return undefined;
  try {
    const variables = names.map((name, at) => ({ name, key: null, value: decodeURIComponent(found[at + 1]) }));
    return { uriTemplate: template, variables };
  } catch {
    // The value is not UTF-8, so there is no match.
    return undefined;
  }
}
