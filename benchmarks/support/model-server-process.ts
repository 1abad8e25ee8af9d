import { startModelServer } from "../../test/servers/model-server.ts";
import { MODEL_AT_ONCE } from "./start-process.ts";

// The model's server, a process of its own so that no measurement has its work: `node model-server-process.ts TOKENS BETWEEN_MS` prints its
// address.
const [tokens, betweenMs] = process.argv.slice(2, 4).map(Number);
const words = Array.from({ length: tokens ?? 40 }, (_, index) => `word${index} `);
const server = await startModelServer({ keepSeen: false });
server.answer(({ model }) => {
  const pace = model === MODEL_AT_ONCE ? {} : { betweenMs: betweenMs ?? 0 };
  return { tokens: words, ...pace };
});
process.stdout.write(`${server.url}\n`);
