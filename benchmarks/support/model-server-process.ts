import { startModelServer } from "../../test/servers/model-server.ts";
import { MODEL_AT_ONCE } from "./start-process.ts";

// A process of its own, so that its work is in nobody's measurement: `node model-server-process.ts TOKENS BETWEEN_MS` prints its address.
const [tokens, betweenMs] = process.argv.slice(2, 4).map(Number);
const words = Array.from({ length: tokens ?? 40 }, (_, index) => `word${index} `);
const server = await startModelServer({ keepSeen: false });
server.answer(({ model }) => {
  const pace = model === MODEL_AT_ONCE ? {} : { betweenMs: betweenMs ?? 0 };
  return { tokens: words, ...pace };
});
process.stdout.write(`${server.url}\n`);
