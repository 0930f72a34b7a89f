// A client with apps, in a browser: the official client and the official `AppBridge`. rolldown bundles this module for the
// page of `apps-servers.mjs`. The test calls `window.showApp`.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, buildAllowAttribute, getToolUiResourceUri,
} from '@modelcontextprotocol/ext-apps/app-bridge';

const INFO = { name: 'apps-host', version: '1' };
const SANDBOX_READY = 'ui/notifications/sandbox-proxy-ready';

/** Calls a tool of a server, and shows its page with the arguments and the result. Returns the metadata of the page. */
async function showApp({ server, name, args, hostContext, sandbox }) {
  const client = new Client(INFO, {
    capabilities: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(server, location.href)));
  const tool = (await client.listTools()).tools.find((tool) => tool.name === name);
  const { contents: [page] } = await client.readResource({ uri: getToolUiResourceUri(tool) });
  const { csp, permissions } = page._meta?.ui ?? {};
  const frame = await sandboxed(sandbox, csp, permissions);

  const bridge = new AppBridge(client, INFO, { serverTools: {} }, { hostContext });
  const initialized = new Promise((resolve) => { bridge.oninitialized = resolve; });
  bridge.onsizechange = ({ height }) => { frame.style.height = `${height}px`; };
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await bridge.sendSandboxResourceReady({ html: page.text, csp, permissions });
  await initialized;
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(await client.callTool({ name, arguments: args }));
  Object.assign(window, { bridge, frame });
  return { csp, permissions, mimeType: page.mimeType, app: bridge.getAppVersion() };
}

/** A frame of another origin, whose policy is a header. The extension demands both of clients in browsers. */
async function sandboxed(origin, csp, permissions) {
  window.frame?.remove();
  const frame = document.createElement('iframe');
  frame.title = 'app';
  frame.sandbox = 'allow-scripts allow-same-origin';
  frame.allow = buildAllowAttribute(permissions);
  frame.src = `${origin}/?csp=${encodeURIComponent(JSON.stringify(csp ?? {}))}`;
  const ready = new Promise((resolve) => {
    addEventListener('message', function listen({ source, data }) {
      if (source !== frame.contentWindow || data?.method !== SANDBOX_READY) return;
      removeEventListener('message', listen);
      resolve();
    });
  });
  document.body.append(frame);
  await ready;
  return frame;
}

window.showApp = showApp;
