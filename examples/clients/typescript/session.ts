// Subscribes in a session of 2025-11-25. The SDK resumes the stream after a broken connection; here it is closed on purpose.
//   run: file:///docs/news.md
//   prints: now change the file
//   prints: updated file:///docs/news.md
//   prints: cut; now change the file
//   prints: updated file:///docs/news.md, after event
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, uri] = process.argv.slice(2);
let cut = () => {};
let last: string | null = null;
const interruptibleFetch: typeof fetch = (input, init) => {
  if (init?.method !== "GET") return fetch(input, init);
  last = new Headers(init.headers).get("last-event-id");
  const controller = new AbortController();
  cut = () => controller.abort();
  return fetch(input, { ...init, signal: AbortSignal.any([init.signal!, controller.signal]) });
};

let onUpdate: (uri: string) => void;
const next = () => new Promise<string>((resolve) => { onUpdate = resolve; });
const client = new Client({ name: "session", version: "1" });
client.setNotificationHandler("notifications/resources/updated", ({ params }) => onUpdate(params.uri));
await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: interruptibleFetch }));

await client.subscribeResource({ uri });
const first = next();
console.log("now change the file");
console.log(`updated ${await first}`);
const second = next();
cut();
console.log("cut; now change the file");
console.log(`updated ${await second}, after event ${last}`);
await client.close();
