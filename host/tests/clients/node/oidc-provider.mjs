// `larder login` with a real authorization server: the package oidc-provider. The client registers itself, the user signs
// in and consents in a browser, a token is renewed, revoked, and requested again with a device code. Then the host gets
// tokens for requests of providers, with a password and with a private key.
// `node oidc-provider.mjs run LARDER COMPONENT`; with `open URL`, it is the browser of the user.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';

const URI = 'test://static-text';
const CLIENT_SECRET = 'hush/hush+hush?hush';
const CLIENT_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const [command, ...parameters] = process.argv.slice(2);
if (command === 'open') {
  await browse(parameters[0]);
} else {
  await run(...parameters);
}

async function run(larder, component) {
  const folder = mkdtempSync(join(tmpdir(), 'larder-oidc-'));
  const [issuer, endpoint] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
  const url = `${endpoint}/mcp`;
  const provider = await startProvider(issuer, url);
  const server = await startServer(folder, larder, component, issuer, url);
  const env = {
    ...process.env,
    BROWSER: `${process.execPath} ${import.meta.filename} open`,
    XDG_STATE_HOME: join(folder, 'user'),
  };
  const execute = (...args) => execution(larder, args, env);
  try {
    await expect(1, execute('read', '--url', url, URI));
    await expect(0, execute('login', url));
    await expect(0, execute('read', '--url', url, URI));

    const before = record(folder);
    assert.equal(statSync(before.file).mode & 0o777, 0o600);
    writeFileSync(before.file, JSON.stringify({ ...before.content, renew_at: 1 }));
    await expect(0, execute('read', '--url', url, URI));
    const after = record(folder).content;
    assert.notEqual(after.access_token, before.content.access_token);
    assert.notEqual(after.refresh_token, before.content.refresh_token);
    console.log('the token was renewed, and the refresh token was replaced');

    await expect(0, execute('logout', url));
    const revoked = await provider.provider.RefreshToken.find(after.refresh_token);
    assert.equal(revoked, undefined);
    await expect(1, execute('read', '--url', url, URI));

    await expect(0, withDeviceCode(larder, url, env));
    await expect(0, execute('read', '--url', url, URI));

    await getTokensOfHost(folder, execute, issuer, url);
  } finally {
    server.kill();
    provider.listener.close();
    provider.listener.closeAllConnections();
    rmSync(folder, { recursive: true });
  }
}

// The host adds an access token to its requests, and gets it in two ways.
async function getTokensOfHost(folder, execute, issuer, resource) {
  const clients = [];
  const api = createHttpServer((request, response) => {
    const [, token] = request.headers.authorization.split(' ');
    const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
    assert.deepEqual([claims.iss, claims.aud, claims.scope], [issuer, resource, 'docs:read']);
    clients.push(claims.client_id);
    response.end('hello');
  }).listen(0, '127.0.0.1');
  await once(api, 'listening');
  const host = `http://127.0.0.1:${api.address().port}`;
  writeFileSync(join(folder, 'password'), CLIENT_SECRET);
  writeFileSync(join(folder, 'key'), CLIENT_KEY.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const provider = (name, key) => `[secret.${key}]\nfile = "${key}"\nhosts = ["${issuer}", "${host}"]\n`
    + `[provider.${name}]\nhosts = [{ host = "${host}", plain_http = true, auth.client_credentials = { `
    + `issuer = "${issuer}", client_id = "${name}", ${key === 'key' ? 'private_key' : 'client_secret'} = "${key}", `
    + `scopes = ["docs:read"], resource = "${resource}" } }]\n`;
  const config = join(folder, 'host.toml');
  writeFileSync(config, provider('with-password', 'password') + provider('with-key', 'key'));
  for (const secret of ['password', 'key']) {
    await expect(0, execute('secret', 'test', secret, host, '--config', config));
  }
  assert.deepEqual(clients, ['with-password', 'with-key']);
  writeFileSync(join(folder, 'password'), 'another-password');
  await expect(1, execute('secret', 'test', 'password', host, '--config', config));
  api.close();
}

// The clients of the host, which need no user.
function clientsOfHost() {
  const common = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
  return [
    {
      ...common,
      client_id: 'with-password',
      client_secret: CLIENT_SECRET,
      token_endpoint_auth_method: 'client_secret_basic',
    },
    {
      ...common,
      client_id: 'with-key',
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      jwks: { keys: [CLIENT_KEY.publicKey.export({ format: 'jwk' })] },
    },
  ];
}

async function startProvider(issuer, resource) {
  const { default: Provider } = await import('oidc-provider');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = { ...privateKey.export({ format: 'jwk' }), kid: 'key', use: 'sig', alg: 'ES256' };
  const server = {
    scope: 'docs:read', audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } },
  };
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: clientsOfHost(),
    scopes: ['openid', 'offline_access', 'docs:read'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      deviceFlow: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, indicator) => {
          assert.equal(indicator, resource);
          return server;
        },
        useGrantedResource: () => true,
      },
    },
  });
  provider.on('server_error', (_, error) => console.error(error));
  const listener = provider.listen(Number(new URL(issuer).port), '127.0.0.1');
  await once(listener, 'listening');
  return { provider, listener };
}

async function startServer(folder, larder, component, issuer, url) {
  const plugins = join(folder, 'plugins');
  mkdirSync(plugins);
  cpSync(component, join(plugins, basename(component)));
  const config = join(folder, 'larder.toml');
  writeFileSync(config, `[auth.oauth]\nissuer = "${issuer}"\naudience = "${url}"\nscopes = ["docs:read"]\n`
    + 'algorithms = ["ES256"]\n[admin]\nlisten = "127.0.0.1:0"\n');
  const { host } = new URL(url);
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'server') };
  const args = ['serve', '--config', config, '--plugins', plugins, '--listen', host];
  const server = spawn(larder, args, { env, stdio: ['ignore', 'inherit', 'pipe'] });
  for await (const line of createInterface({ input: server.stderr })) {
    console.error(line);
    if (line.includes('serves http')) {
      break;
    }
  }
  server.stderr.resume();
  return server;
}

// Ends with the exit code of the command.
async function execution(larder, args, env) {
  console.log(`larder ${args.join(' ')}`);
  const child = spawn(larder, args, { env, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code;
}

async function withDeviceCode(larder, url, env) {
  console.log(`larder login --device ${url}`);
  const login = spawn(larder, ['login', '--device', url], { env, stdio: ['ignore', 'inherit', 'pipe'] });
  const exit = once(login, 'exit');
  for await (const line of createInterface({ input: login.stderr })) {
    console.error(line);
    const page = line.match(/or open (\S+)/)?.[1];
    if (page) {
      await browse(page);
    }
  }
  const [code] = await exit;
  return code;
}

async function expect(expected, code) {
  assert.equal(await code, expected);
}

function record(folder) {
  const files = join(folder, 'user', 'larder', 'sign-ins');
  const file = join(files, readdirSync(files).find((name) => name.endsWith('.json')));
  return { file, content: JSON.parse(readFileSync(file, 'utf8')) };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

// Follows redirects with cookies, and submits each form as it is.
async function browse(start) {
  const cookies = new Map();
  let page = await load(cookies, start);
  for (let forms = 0; forms < 5; forms += 1) {
    const action = page.text.match(/<form[^>]*action="([^"]+)"/)?.[1];
    if (!action) {
      return;
    }
    const body = new URLSearchParams();
    for (const [input] of page.text.matchAll(/<input[^>]*>/g)) {
      const name = input.match(/name="([^"]+)"/)?.[1];
      if (name) {
        body.set(name, input.match(/value="([^"]*)"/)?.[1] ?? 'ann');
      }
    }
    page = await load(cookies, new URL(action, page.url), { method: 'POST', body });
  }
  throw new Error(`too many forms: ${page.url}`);
}

async function load(cookies, start, first = {}) {
  let [url, init] = [start, first];
  for (let redirects = 0; redirects < 20; redirects += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { ...init, redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (!location) {
      return { url, text: await response.text() };
    }
    [url, init] = [new URL(location, url), {}];
  }
  throw new Error(`too many redirects: ${url}`);
}
