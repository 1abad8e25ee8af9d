import { createHash } from "node:crypto";
import { startEmbeddingServer } from "../../../test/servers/embedding-server.ts";
import { startModelServer, type ChatRequestBody, type ModelScript } from "../../../test/servers/model-server.ts";
import { MEMORY_MODEL, SUMMARY_MODEL } from "../../../test/hard/chaos/chaos-model.ts";

// A process of its own, so that its work is in nobody's measurement: prints the addresses of a chat server and of an embedding server.
const FIRST_TOKEN_MS = 50;
const BETWEEN_MS = 5;
const DIMENSIONS = 64;
const FORGET_EVERY_MS = 5_000;
const KEY = /\bMessage (\S+)/g;
const words = Array.from({ length: 38 }, (_, index) => `word${index + 1} `);

/** Numbers that a text always has, and other texts do not. */
function vectorOf(text: string): number[] {
  const bytes = createHash("sha512").update(text).digest();
  return Array.from({ length: DIMENSIONS }, (_, index) => (bytes[index] ?? 0) / 128 - 1);
}

/** Every fourth reading of the memory agent finds something to keep; the others nothing. */
function remember({ messages }: ChatRequestBody): ModelScript {
  if (messages.some(({ role }) => role === "tool")) return { tokens: ["done"] };
  const said = messages.flatMap(({ content }) => [...content.matchAll(KEY)].map(([, key]) => key)).at(-1);
  if (said === undefined || (createHash("sha1").update(said).digest()[0] ?? 0) % 4 !== 0) return { tokens: ["nothing to do"] };
  return {
    toolCalls: [{ name: "core_memory_update", arguments: { section: "preferences", content: `Has said ${said}.`, reason: "said so" } }],
  };
}

function script(body: ChatRequestBody): ModelScript {
  if (body.model === SUMMARY_MODEL) return { tokens: ["They ", "spoke ", "of ", "messages."], firstTokenMs: FIRST_TOKEN_MS };
  if (body.model === MEMORY_MODEL) return { ...remember(body), firstTokenMs: FIRST_TOKEN_MS };
  const asked = [...(body.messages.at(-1)?.content.matchAll(KEY) ?? [])].at(-1)?.[1] ?? "that";
  return { tokens: ["word0 ", `on ${asked}: `, ...words], firstTokenMs: FIRST_TOKEN_MS, betweenMs: BETWEEN_MS };
}

const [model, embedder] = await Promise.all([startModelServer({ keepSeen: false }), startEmbeddingServer()]);
model.answer(script);
embedder.answer({ vectorOf });
setInterval(() => (embedder.seen.length = 0), FORGET_EVERY_MS);
process.stdout.write(`${model.url} ${embedder.url}\n`);
