// Outgoing HTTP requests through the host, limited to the hosts that the operator granted. `fetch` is not available.

import { send as hostSend, sendAll as hostSendAll } from 'larder:provider/http-client@0.1.0';

import { bytes, integer, optional, pairs, record, text, valid } from './check.js';
import { Denied, Failed, Unavailable } from './errors.js';
import { Response } from './response.js';
import { encode } from './utf8.js';

export const get = (url, headers, options) => send({ ...options, url, headers });

export function send(request) {
  const converted = toRequest(request);
  try {
    return new Response(hostSend(converted));
  } catch (thrown) {
    throw toError(thrown?.payload ?? thrown);
  }
}

/** Sends several requests at once. Each result has a response or an error. */
export function sendAll(requests) {
  const results = hostSendAll(requests.map(toRequest));
  return results.map(({ tag, val }) => (tag === 'ok' ? { response: new Response(val) } : { error: toError(val) }));
}

const fields = record('an object with `url`', {
  method: optional(text, () => 'GET'),
  url: text,
  headers: optional(pairs, () => []),
  body: optional((given) => (typeof given === 'string' ? encode(given) : bytes(given)), () => new Uint8Array()),
  timeout: optional(integer),
});

function toRequest(given) {
  const { timeout, ...request } = valid('the request', fields, given);
  return { ...request, timeoutMs: timeout };
}

function toError(failure) {
  switch (failure?.tag) {
    case 'denied':
      return new Denied(failure.val);
    case 'unreachable':
      return new Unavailable(failure.val);
    case 'timed-out':
      return new Unavailable('the remote server did not respond in time');
    case 'too-large':
      return new Failed('the response is larger than the host allows');
    default:
      return failure;
  }
}
