// The extension `resources-get` in a session: returns a resource together with its content, and sends the content with
// updates. The SDK does not support it, but can send any method and receive any notification. Enable it with
// `extensions = ["resources-get"]`.
//   run: file:///docs/news.md
//   prints: news.md is text/markdown
//   prints: not modified
//   prints: now change the file
//   prints: news.md has another version
//   prints: unsubscribed
//   prints: Resource not found
import { Client, fromJsonSchema, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, uri] = process.argv.slice(2);
const anything = fromJsonSchema<any>({});
const client = new Client({ name: "extension", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const ask = (method: string, params: Record<string, unknown>) => client.request({ method, params }, anything);

const { resource, contents } = await ask("resources/get", { uri });
console.log(`${resource.name} is ${contents.contentType}`);
try {
  await ask("resources/get", { uri, version: resource.version });
  console.log("it differs");
} catch (error: any) {
  if (error.code !== -31001) throw error;
  console.log("not modified");
}

const changed = new Promise<any>((resolve) => {
  const method = "notifications/resources/content_changed";
  client.setNotificationHandler(method, { params: anything }, (params: any) => resolve(params.resource));
});
await ask("resources/subscribe", { uris: [uri] });
console.log("now change the file");
const { name, version } = await changed;
console.log(`${name} has ${version === resource.version ? "the same" : "another"} version`);
await ask("resources/unsubscribe", { uris: [uri] });
console.log("unsubscribed");

await ask("resources/get", { uri: "file:///docs/nothing" }).catch((error) => {
  console.log(error.message);
});
await client.close();
