import { startModelServer } from "../../test/support/model-server.ts";

// A process of its own, so that its work is in nobody's measurement: `node model-server-process.ts TOKENS BETWEEN_MS` prints its address.
const [tokens, betweenMs] = process.argv.slice(2).map(Number);
const server = await startModelServer({ keepSeen: false });
server.answer({ tokens: Array.from({ length: tokens ?? 40 }, (_, index) => `word${index} `), betweenMs: betweenMs ?? 0 });
process.stdout.write(`${server.url}\n`);
