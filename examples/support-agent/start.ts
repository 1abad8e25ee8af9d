import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

// Every setting of docs/configuration.md may be given; these have other defaults here.
const { DATA_DIR = ".data/support-agent", PORT = "8000" } = process.env;
const tickets = path.resolve(DATA_DIR, "tickets");
const settings = { DATA_DIR, PORT, AGENTS_DIR: here("agents"), SKILLS_DIR: here("skills"), MCP_CONFIG: here("mcp.json") };
const variablesOfMcp = { SUPPORT_ORDERS: here("orders.jsonl"), SUPPORT_TICKETS: tickets };
for (const [name, value] of Object.entries({ ...settings, ...variablesOfMcp })) process.env[name] ??= value;
mkdirSync(tickets, { recursive: true });

// As `npm start`; it is loaded when it listens.
await import(new URL("../../dist/main.js", import.meta.url).href);

// As `npm run ingest -- handbook examples/support-agent/handbook`; what is there already is replaced.
const about = ["--url", `http://127.0.0.1:${PORT}`, "--description", "Returns, repairs, refunds and delivery of lamps"];
await promisify(execFile)(process.execPath, [here("../../dist/conversation-graph.js"), "ingest", "handbook", here("handbook"), ...about]);
console.log(`The support agent is ready. It writes tickets to ${tickets}`);
