// A read request.

import { Invalid, NotFound, NotModified } from './errors.js';

export class Request {
  constructor({ uri, matched, knownVersion }) {
    Object.assign(this, { uri, matched: matched ?? undefined, knownVersion: knownVersion ?? undefined });
  }

  get template() {
    return this.matched?.uriTemplate;
  }

  var(name) {
    if (!this.matched) throw new NotFound();
    const values = this.vars(name);
    if (values.length === 0) throw new Invalid(`the URI has no value for \`${name}\``);
    return values.join(",");
  }

  optionalVar(name, defaultValue) {
    return this.vars(name).length > 0 ? this.var(name) : defaultValue;
  }

  vars(name) {
    return this.#variables(name).map(({ value }) => value);
  }

  map(name) {
    const pairs = this.#variables(name).filter(({ key }) => key != null);
    return Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
  }

  #variables(name) {
    return (this.matched?.variables ?? []).filter((variable) => variable.name === name);
  }

  unlessKnown(version) {
    if (this.knownVersion === version) throw new NotModified();
  }
}
