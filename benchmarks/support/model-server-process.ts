import { startModelServer } from "../../test/servers/model-server.ts";
import { MODEL_AT_ONCE } from "./start-process.ts";

// The model's server in its own process, outside all measurements: `node model-server-process.ts TOKENS BETWEEN_MS` prints its address.
const [tokens, betweenMs] = process.argv.slice(2, 4).map(Number);
const words = Array.from({ length: tokens ?? 40 }, (_, index) => `word${index} `);
/** Varies `current_time`: three equal calls in a turn would be a loop. */
const zoneAt = (place: number) => ({ time_zone: `Etc/GMT-${place % 12}` });
/** What a router's model answers, which is asked for an agent or for a knowledge base. */
const ROUTED = { agent: "assistant", kb_prefix: "handbook", confidence: 0.9, reason: "it fits" };
const server = await startModelServer({ keepSeen: false });
server.answer(({ model, messages, tools = [] }) => {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const calls = Number(/call (\d+) tools/.exec(messages[asked]?.content ?? "")?.[1] ?? 0);
  const [tool] = tools;
  if (tool?.function.name === "route") return { toolCalls: [{ name: "route", arguments: ROUTED }] };
  if (tool && messages.slice(asked).filter(({ role }) => role === "tool").length < calls)
    return { toolCalls: [{ name: tool.function.name, arguments: zoneAt(messages.length), id: `call-${messages.length}` }] };
  const pace = model === MODEL_AT_ONCE ? {} : { betweenMs: betweenMs ?? 0 };
  return { tokens: words, ...pace };
});
process.stdout.write(`${server.url}\n`);
