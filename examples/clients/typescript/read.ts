// Reads text and bytes, and distinguishes errors.
//   run: test://static-text test://static-binary test://nowhere echo://error/denied
//   prints: test://static-text: This is the content
//   prints: test://static-binary: image/png of 
//   prints: test://nowhere: there is no such resource
//   prints: echo://error/denied: -32603 denied
import { Client, ResourceNotFoundError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url = "http://127.0.0.1:7878/mcp", ...uris] = process.argv.slice(2);
const client = new Client({ name: "read", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

for (const uri of uris) {
  try {
    const { contents } = await client.readResource({ uri });
    for (const piece of contents) {
      if ("text" in piece) console.log(`${uri}: ${piece.text}`);
      else console.log(`${uri}: ${piece.mimeType} of ${Buffer.from(piece.blob, "base64").length} bytes`);
    }
  } catch (error: any) {
    if (error instanceof ResourceNotFoundError) console.log(`${uri}: there is no such resource`);
    else console.log(`${uri}: ${error.code} ${error.data?.kind ?? ""} ${error.message}`);
  }
}
await client.close();
