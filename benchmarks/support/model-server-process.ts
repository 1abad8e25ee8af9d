import { startModelServer } from "../../test/servers/model-server.ts";
import { machineMs } from "./machine-ms.ts";
import { MODEL_AT_ONCE } from "./model-at-once.ts";

// A process of its own, so that its work is in nobody's measurement: `node model-server-process.ts TOKENS BETWEEN_MS FIRST_TOKEN_MS stamped`
// prints its address. A stamped answer ends with the moment at which the server had read the request.
const [tokens, betweenMs, firstTokenMs] = process.argv.slice(2, 5).map(Number);
const isStamped = process.argv[5] === "stamped";
const words = Array.from({ length: tokens ?? 40 }, (_, index) => `word${index} `);
const server = await startModelServer({ keepSeen: false });
server.answer(({ model }) => {
  const pace = model === MODEL_AT_ONCE ? {} : { betweenMs: betweenMs ?? 0, firstTokenMs: firstTokenMs ?? 0 };
  return { tokens: isStamped ? [...words, `at ${machineMs()}`] : words, ...pace };
});
process.stdout.write(`${server.url}\n`);
