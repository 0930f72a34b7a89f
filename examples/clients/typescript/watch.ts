// Receives notifications of changes of a resource and of the list (2026-07-28).
//   run: file:///docs/news.md
//   prints: now change the file
//   prints: updated file:///docs/news.md
//   prints: now add a file
//   prints: the list differs
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, uri] = process.argv.slice(2);
const client = new Client({ name: "watch", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const updated = new Promise<string>((resolve) => {
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(params.uri));
});
const listChanged = new Promise<void>((resolve) => {
  client.setNotificationHandler("notifications/resources/list_changed", () => resolve());
});
const listening = await client.listen({ resourcesListChanged: true, resourceSubscriptions: [uri] });
console.log("now change the file");
console.log(`updated ${await updated}`);
console.log("now add a file");
await listChanged;
console.log("the list differs");
await listening.close();
await client.close();
