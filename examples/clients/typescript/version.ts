// Reads only if the version differs from the known one.
//   run: test://static-text
//   prints: version 1
//   prints: not modified
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, uri] = process.argv.slice(2);
const client = new Client({ name: "version", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const reading = await client.readResource({ uri });
const held = reading._meta?.["dev.larder/version"];
console.log(`version ${held}`);
try {
  await client.readResource({ uri, _meta: { "dev.larder/version": held } }, { cacheMode: "bypass" });
  console.log("it differs");
} catch (error: any) {
  if (error.code !== -31001) throw error;
  console.log("not modified");
}
await client.close();
