import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

// Every setting of docs/configuration.md may be given; these have other defaults here.
const { DATA_DIR = ".data/team", PORT = "8000" } = process.env;
for (const [name, value] of Object.entries({ DATA_DIR, PORT, AGENTS_DIR: here("agents") })) process.env[name] ??= value;

// As `npm start`; it is loaded when it listens.
await import(new URL("../../dist/main.js", import.meta.url).href);

// As `npm run ingest -- handbook examples/support-agent/handbook`; what is there already is replaced.
const about = ["--url", `http://127.0.0.1:${PORT}`, "--description", "Returns, repairs, refunds and delivery of lamps"];
const ingest = [here("../../dist/conversation-graph.js"), "ingest", "handbook", here("../support-agent/handbook"), ...about];
await promisify(execFile)(process.execPath, ingest);
console.log("The team is ready.");
