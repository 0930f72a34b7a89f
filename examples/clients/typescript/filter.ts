// Lists a part of the resources, filtered by URI prefix, kind, media type, provider, team or text. All pages use the same filter.
//   run: dev.larder/provider=conformance dev.larder/text=STATIC
//   prints: test://static-binary
//   prints: test://static-text
//   prints: 2 in all
//   prints: -32602
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, ...wanted] = process.argv.slice(2);
const client = new Client({ name: "filter", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const _meta = Object.fromEntries(wanted.map((pair) => pair.split("=")));
let cursor: string | undefined;
let count = 0;
do {
  const page = await client.request({ method: "resources/list", params: { _meta, cursor } });
  for (const { uri } of page.resources) console.log(uri);
  count += page.resources.length;
  cursor = page.nextCursor;
} while (cursor !== undefined);
console.log(`${count} in all`);

// An unknown filter is an error; it is not ignored.
const unknown = { "dev.larder/colour": "red" };
await client.request({ method: "resources/list", params: { _meta: unknown } }).catch((error) => console.log(error.code));
await client.close();
