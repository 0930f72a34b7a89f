// The response to an HTTP request.

import { Denied, Failed, NotFound, NotModified, Unavailable } from './errors.js';
import { decode } from './utf8.js';

export class Response {
  constructor({ status, headers, body }) {
    Object.assign(this, { status, headers, body });
  }

  header(name) {
    return this.headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  }

  accepted() {
    const { status } = this;
    const reason = `the remote server responded with status ${status}`;
    if (status >= 200 && status < 300) return this;
    if (status === 304) throw new NotModified();
    if (status === 404 || status === 410) throw new NotFound();
    if (status === 401 || status === 403) throw new Denied(reason);
    if ([408, 425, 429].includes(status) || status >= 500) throw new Unavailable(reason);
    throw new Failed(reason);
  }

  text() {
    return decode(this.body);
  }

  json() {
    return JSON.parse(this.text());
  }
}
