// Reads with progress notifications. Then reads again and cancels the request at the first notification.
//   run: echo://progress
//   prints: 1 of 3: step 1
//   prints: 3 of 3: step 3
//   prints: done
//   prints: cancelled
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, uri] = process.argv.slice(2);
const client = new Client({ name: "progress", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const { contents } = await client.readResource({ uri }, {
  onprogress: ({ progress, total, message }) => console.log(`${progress} of ${total}: ${message}`),
});
for (const piece of contents) if ("text" in piece) console.log(piece.text);

const stop = new AbortController();
try {
  await client.readResource({ uri }, { signal: stop.signal, onprogress: () => stop.abort("enough") });
} catch (error) {
  console.log("cancelled");
}
await client.close();
