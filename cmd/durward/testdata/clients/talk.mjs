// Usage: node talk.mjs v1|v2 legacy|auto|modern URL, or a PROGRAM [ARGUMENT…]
//
// Goes to a server, or starts it, with a library for clients, which the working directory has, and
// does what the lines of JSON on its input say: {"list":true}, {"call":{"name":…,"arguments":…}} and,
// while a call runs, {"cancel":true}. It prints what comes of it in lines of JSON: {"open":true}
// first, then {"progress":…}, and {"result":…} or {"error":…} for each list and call. When its
// input ends it closes the server. A session is ended, too, where there is one. Version 1 of the library knows one era, legacy.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const patience = { timeout: 10 * 60_000 };
const modes = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };
const libraries = {
  v1: {
    parts: ["index", "stdio", "streamableHttp"].map((part) => `@modelcontextprotocol/sdk/client/${part}.js`),
    call: (client, params, options) => client.callTool(params, undefined, options),
  },
  v2: {
    parts: ["@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio"],
    call: (client, params, options) => client.callTool(params, options),
  },
};

const [library, era, command, ...args] = process.argv.slice(2);
const { parts, call } = libraries[library];
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = Object.assign({}, ...parts.map(createRequire(`${process.cwd()}/`)));

const print = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const answer = (promise) => promise.then((result) => print({ result }), (error) => print({ error: String(error) }));

const client = new Client({ name: "talk", version: "1" }, { versionNegotiation: { mode: modes[era], probe: patience } });
const transport = command.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args });
await client.connect(transport, patience);
print({ open: true });

let calling = new AbortController();
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.list) answer(client.listTools(undefined, patience));
  if (asked.cancel) calling.abort("cancelled by the test");
  if (asked.call) {
    calling = new AbortController();
    const onprogress = ({ progress }) => print({ progress });
    answer(call(client, asked.call, { ...patience, onprogress, signal: calling.signal }));
  }
}
await transport.terminateSession?.();
await client.close();
