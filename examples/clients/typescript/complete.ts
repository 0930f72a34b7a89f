// Completes a variable of a template. The values of the other variables are sent along.
//   run: echo://say/{word} word hel lang=en
//   prints: hello, help, lang=en
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, template, name, value, ...filled] = process.argv.slice(2);
const client = new Client({ name: "complete", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const { completion } = await client.complete({
  ref: { type: "ref/resource", uri: template },
  argument: { name, value },
  context: { arguments: Object.fromEntries(filled.map((pair) => pair.split("="))) },
});
console.log(completion.values.join(", "));
await client.close();
