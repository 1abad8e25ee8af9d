import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const CONSENT = { type: "object" as const, properties: {} };
const SEATS = {
  type: "object" as const,
  properties: {
    seat: { type: "string" as const, title: "Seat", enum: ["window", "aisle"] },
    people: { type: "integer" as const, description: "How many you are.", minimum: 1, maximum: 8 },
    email: { type: "string" as const, format: "email" as const },
    vegan: { type: "boolean" as const, default: false },
  },
  required: ["seat", "people"],
};

const said = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** An MCP server over stdio whose tools ask their user in the middle of a call. What they did, in order, is the text of `done`. */
const mcp = new McpServer({ name: "asking", version: "1" });
const done: string[] = [];
const ask = (message: string, requestedSchema: typeof CONSENT | typeof SEATS) => mcp.server.elicitInput({ message, requestedSchema });
mcp.registerTool("done", {}, () => said(done.join(", ")));
mcp.registerTool("book", {}, async () => {
  const { action, content } = await ask("Where do you want to sit?", SEATS);
  done.push(`book ${action}`);
  return said(`${action} ${JSON.stringify(content ?? {})}`);
});
mcp.registerTool("erase", { inputSchema: { file: z.string() } }, async ({ file }) => {
  const first = await ask(`Erase ${file}?`, CONSENT);
  const second = first.action === "accept" ? await ask("Its copies, too?", CONSENT) : first;
  done.push(`erase ${first.action} ${second.action}`);
  return said(`${first.action} ${second.action}`);
});
mcp.registerTool("careless", {}, async () => {
  const action = await ask("Shall I?", CONSENT).then(
    (answer) => answer.action,
    () => "nobody",
  );
  done.push(`careless ${action}`);
  return said(`done anyway: ${action}`);
});
mcp.registerTool("fickle", {}, async () => {
  const { action } = await ask(`Is it ${process.hrtime.bigint()} now?`, CONSENT);
  done.push(`fickle ${action}`);
  return said(action);
});
mcp.registerTool("hang", {}, () => new Promise<never>(() => undefined));

await mcp.connect(new StdioServerTransport());
