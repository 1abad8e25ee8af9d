import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { generateDialogues } from "./support/dialogues/generate-dialogues.ts";
import { startSmallModelOrEnd } from "./support/small-model.ts";
import { startService } from "./support/start-process.ts";

/*
 * One long conversation with a real small model in its real window, printed as it went: no turn may fail, and what was said in turn 3 is
 * still known at the end, with the receipt that says by which memory. Run with SMALL_MODEL=model.gguf LLAMA_SERVER=llama-server npm run try:long-conversation [-- TURNS CONTEXT].
 */

const TURNS = Number(process.argv[2] ?? 120);
const CONTEXT = Number(process.argv[3] ?? 8_192);
const [FACT, QUESTION, HOLDS] = ["Please remember: my boat is called Calypso.", "What is my boat called?", "Calypso"];

const print = (line: string): void => void process.stdout.write(`${line}\n`);

await using opened = new AsyncDisposableStack();
// Ollama starts every model with this penalty; without it a model as small as this repeats one word for ever.
const model = await startSmallModelOrEnd({ context: 2 * CONTEXT, slots: 2, options: ["--repeat-penalty", "1.1"] });
opened.defer(() => model.stop());
const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-long-"));
opened.defer(() => rm(folder, { recursive: true, force: true }));
const service = await startService(model.url, {
  CHAT_MODEL: "small",
  DATA_DIR: folder,
  MAX_ANSWER_TOKENS: "80",
  // A prompt of this window takes a slow machine so long.
  MODEL_FIRST_TOKEN_TIMEOUT_MS: "300000",
  MODEL_IDLE_TIMEOUT_MS: "300000",
  RATE_LIMIT_PER_MINUTE: "0",
});
opened.defer(() => service.stop());

interface Done {
  error?: { code: string; message: string };
  answer: string;
  conversation_id: string;
  usage: { prompt_tokens: number; context_limit: number };
  receipt: { summary: { version: number } | null; core_memory: unknown[]; episodes: { message_ids: string[] }[] };
}

async function call<Body>(address: string, body?: unknown, method = body === undefined ? "GET" : "POST"): Promise<Body> {
  const init = { method, headers: { "content-type": "application/json" }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  return (await (await fetch(`${service.line}${address}`, init)).json()) as Body;
}
const say = (message: string, more: { session_id?: string; agent?: string } = {}): Promise<Done> =>
  call<Done>("/api/v1/chat", { user_id: "ada", session_id: "long", message, ...more });

const [talk] = generateDialogues({ count: 1, turns: TURNS });
const failed: string[] = [];
const prompts: number[] = [];
let last: Done | undefined;
for (let turn = 1; turn < TURNS; turn++) {
  const done = await say(turn === 3 ? FACT : (talk?.exchanges[turn]?.user ?? "And then?"));
  if (done.error) failed.push(`turn ${turn}: ${done.error.code}, ${done.error.message}`);
  else {
    last = done;
    prompts.push(done.usage.prompt_tokens);
  }
  if (turn % 10 === 0)
    print(
      `turn ${turn}: prompt of ${prompts.at(-1)} tokens, most ${Math.max(...prompts)}, limit ${last?.usage.context_limit}, failed: ${failed.join("; ") || "none"}`,
    );
}
await call(`/api/v1/conversations/${last?.conversation_id}/settle?timeout_ms=300000`, {});
const { sections } = await call<{ sections: { content: string }[] }>("/api/v1/users/ada/core-memory");
const inCoreMemory = sections.some(({ content }) => content.includes(HOLDS));
print(`\nFailed turns: ${failed.length === 0 ? "none" : failed.join("; ")} of ${TURNS}.`);
print(
  `Prompts: ${Math.min(...prompts)} to ${Math.max(...prompts)} tokens; the last ten on average ${Math.round(prompts.slice(-10).reduce((sum, tokens) => sum + tokens, 0) / 10)}.`,
);
print(`Core memory ${inCoreMemory ? "has" : "does not have"} what was said in turn 3.`);
// A model as small as this answers at random unless its temperature is 0.
await call("/api/v1/agents/steady", { description: "Answers what it reads", temperature: 0 }, "PUT");
for (const [session_id, where] of [
  ["other", "in another session"],
  ["long", "in this conversation"],
] as const) {
  const { answer, receipt, usage } = await say(QUESTION, { session_id, agent: "steady" });
  print(`\n${where}, with a prompt of ${usage.prompt_tokens} tokens\n> ${QUESTION}\n< ${answer.replaceAll(/\s+/g, " ")}`);
  print(
    `The answer ${answer.includes(HOLDS) ? "has" : "does not have"} it. Receipt: summary ${JSON.stringify(receipt.summary)}, core memory ${JSON.stringify(receipt.core_memory)}, ${receipt.episodes.length} episodes.`,
  );
}
