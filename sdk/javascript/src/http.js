// Outgoing HTTP through the host, which lets through what the operator granted. There is no `fetch`.

import { send as ask } from 'larder:provider/http-client@0.1.0';

import { Denied, Failed, Unavailable } from './errors.js';
import { Response } from './response.js';
import { encode } from './utf8.js';

export const get = (url, headers) => send({ url, headers });

export function send({ method = 'GET', url, headers = {}, body = new Uint8Array() }) {
  const bytes = typeof body === 'string' ? encode(body) : body;
  try {
    return new Response(ask({ method, url, headers: Object.entries(headers), body: bytes }));
  } catch (thrown) {
    throw meaning(thrown?.payload ?? thrown);
  }
}

function meaning(failure) {
  switch (failure?.tag) {
    case 'denied':
      return new Denied(failure.val);
    case 'unreachable':
      return new Unavailable(failure.val);
    case 'timed-out':
      return new Unavailable('the other side did not answer in time');
    case 'too-large':
      return new Failed('the answer is larger than the host accepts');
    default:
      return failure;
  }
}
