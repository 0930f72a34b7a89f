// Outgoing HTTP requests through the host, limited to the hosts that the operator granted. `fetch` is not available.

import { send as hostSend } from 'larder:provider/http-client@0.1.0';

import { Denied, Failed, Unavailable } from './errors.js';
import { Response } from './response.js';
import { encode } from './utf8.js';

export const get = (url, headers) => send({ url, headers });

export function send({ method = 'GET', url, headers = {}, body = new Uint8Array() }) {
  const bytes = typeof body === 'string' ? encode(body) : body;
  try {
    return new Response(hostSend({ method, url, headers: Object.entries(headers), body: bytes }));
  } catch (thrown) {
    throw toError(thrown?.payload ?? thrown);
  }
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
