// Lists all pages of resources, and the templates.
//   prints: a page of 20
//   prints: test://static-text
//   prints: template test://template/{id}/data
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url = "http://127.0.0.1:7878/mcp"] = process.argv.slice(2);
const client = new Client({ name: "list", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

// `client.listResources()` requests all pages; this shows the single pages.
let cursor: string | undefined;
do {
  const page = await client.request({ method: "resources/list", params: { cursor } });
  console.log(`a page of ${page.resources.length}`);
  for (const { uri } of page.resources) console.log(uri);
  cursor = page.nextCursor;
} while (cursor !== undefined);

const { resourceTemplates } = await client.listResourceTemplates();
for (const { uriTemplate } of resourceTemplates) console.log(`template ${uriTemplate}`);
await client.close();
