// Functions of the host for tools and prompts, in the world `interactive-provider` only: a component of another world
// cannot import them, so they are not part of index.js.

import * as host from 'larder:provider/interaction-host@0.1.0';

import { oneOf, valid } from '../check.js';

import { json } from './json.js';

const severityName = oneOf('debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency');

/** Whether the client supports a capability, such as `/elicitation/url`. */
export const clientSupports = (capability) => host.clientSupports(String(capability).toWellFormed());

/** The lowest severity that the client asked for, if any. */
export const clientLogLevel = () => host.clientLogLevel() ?? undefined;

/** Sends a log message to the client. */
export const logToClient = (severity, data, logger) => {
  const name = logger == null ? null : String(logger).toWellFormed();
  host.logToClient(valid('the severity', severityName, severity), name, valid('the data', json, data));
};

/** Notifies clients that the list of tools changed. */
export const toolsChanged = () => host.toolsChanged();

/** Notifies clients that the list of prompts changed. */
export const promptsChanged = () => host.promptsChanged();
