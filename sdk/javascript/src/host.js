// What the host offers during a call.

import * as host from 'larder:provider/provider-host@0.1.0';

import { whole } from './values.js';

export const caller = () => host.getCaller() ?? undefined;

export const metadata = () => Object.fromEntries(host.requestMetadata());

export const setting = (name, otherwise) => host.setting(name) ?? otherwise;

export const log = (level, message) => host.log(level, whole(message));
export const debug = (message) => log('debug', message);
export const info = (message) => log('info', message);
export const warn = (message) => log('warn', message);
export const error = (message) => log('error', message);

export const resourceUpdated = (uri) => host.resourceUpdated(uri);

export const resourcesChanged = () => host.resourcesChanged();

export const progress = (done, total, message) => host.progress(done, total ?? null, message ?? null);

export const cancelled = () => host.cancelled();
