import { startModelServer } from "../../test/support/model-server.ts";

// A process of its own, so that its work is in nobody's measurement: `node model-server-process.ts BETWEEN_MS` prints its address.
const betweenMs = Number(process.argv[2] ?? 0);
const server = await startModelServer({ keepSeen: false });
server.answer({ betweenMs });
process.stdout.write(`${server.url}\n`);
