// Functions of the host.

import * as host from 'larder:provider/provider-host@0.1.0';

export const caller = () => host.getCaller() ?? undefined;

export const metadata = () => Object.fromEntries(host.requestMetadata());

export const setting = (name, defaultValue) => host.setting(name) ?? defaultValue;

export const log = (level, message) => host.log(level, String(message).toWellFormed());
export const debug = (message) => log('debug', message);
export const info = (message) => log('info', message);
export const warn = (message) => log('warn', message);
export const error = (message) => log('error', message);

export const resourceUpdated = (uri) => host.resourceUpdated(uri);

export const resourcesChanged = () => host.resourcesChanged();

export const progress = (done, total, message) => host.progress(done, total ?? null, message ?? null);

export const cancelled = () => host.cancelled();

export const timeLeft = () => Number(host.timeLeftMs());
