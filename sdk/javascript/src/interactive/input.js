// Input from the client: requests that a tool or a prompt returns, and the answers with which it is called again.

import { bytes, entriesOf, optional, record, text, valid } from '../check.js';
import { decode, encode } from '../utf8.js';

import { jsonObject, objectSchema } from './json.js';

/** The result of `input`. */
export class InputRequired {
  constructor(required) {
    this.required = required;
  }
}

/** Returned by a tool or a prompt that needs input: requests by key, and a state for the next call. */
export function input(requests, options) {
  const { state } = valid('the options', inputOptions, options ?? {});
  return new InputRequired({ requests: valid('the requests', requestList, requests), state });
}

const request = record('a request, such as `elicit({ … })`', { method: text, params: jsonObject });

const requestList = entriesOf('an object with requests', (given, key) => ({ key: text(key), ...request(given) }));

const inputOptions = record('an object with `state`', {
  state: optional((given) => (typeof given === 'string' ? encode(given) : bytes(given))),
});

/** Asks the user to fill in a form. */
export function elicit(given) {
  const { message, schema } = valid('the form', form, given);
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } };
}

const form = record('an object with `message` and `schema`', { message: text, schema: objectSchema });

/** Asks the user to open a page. */
export function elicitUrl(given) {
  const { elicitationId, ...params } = valid('the page', page, given);
  const id = elicitationId === null ? {} : { elicitationId };
  return { method: 'elicitation/create', params: { mode: 'url', ...params, ...id } };
}

const page = record('an object with `message` and `url`', { message: text, url: text, elicitationId: optional(text) });

/** Asks the model of the client for a message. */
export const sample = (params) => ({ method: 'sampling/createMessage', params });

/** Asks for the folders of the client. */
export const roots = () => ({ method: 'roots/list', params: {} });

/** The answers of the client, and the state of the call before. */
export class Input {
  constructor({ responses, state }) {
    this.answers = Object.fromEntries(responses.map(({ key, outcome }) => [key, answer(outcome)]));
    this.stateBytes = state ?? undefined;
  }

  get state() {
    return this.stateBytes && decode(this.stateBytes);
  }

  accepted(key) {
    const result = this.answers[key]?.result;
    return result?.action === 'accept' ? (result.content ?? {}) : undefined;
  }
}

const answer = ({ tag, val }) => (tag === 'ok' ? { result: JSON.parse(val) } : { error: JSON.parse(val) });
