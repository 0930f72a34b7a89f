// Functions that are tools: `wit/world.wit` declares them.
import { get } from 'wasi:config/store@0.2.0-rc.1';

export function greet(name) {
  if (name === '') throw 'a name is required';
  return `${get('greeting') ?? 'Hello'}, ${name}!`;
}

export function countWords(text) {
  const counts = new Map();
  for (const word of text.split(/\s+/)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, times]) => ({ word, times }));
}
