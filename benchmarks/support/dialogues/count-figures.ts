import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens as p50k } from "gpt-tokenizer/encoding/p50k_base";
import { makeTokenCounts } from "../../../models/facts/token-counts.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { type Figure, figureOf } from "../figures.ts";
import type { Dialogue } from "./dialogue.ts";

/** Vocabularies with what uses them. */
const VOCABULARIES = {
  "o200k_base, gpt-4o and later": o200k,
  "cl100k_base, gpt-4": cl100k,
  "p50k_base, gpt-3": p50k,
};

const SYSTEM = "You are a helpful assistant in a long-running conversation. Answer in the language of the user's last message.";
const TOOL = {
  name: "memory_search",
  description: "Searches what the user has said before.",
  schema: { type: "object", properties: { query: { type: "string" }, limit: { type: "integer", minimum: 1 } }, required: ["query"] },
};
const TOOLS = Array.from({ length: 6 }, (_, number) => JSON.stringify({ ...TOOL, name: `${TOOL.name}_${number}` })).join("\n");

const WINDOW = 8;
/** Turns after which counts are compared; what came before is learned from. */
const LEARNED_TURNS = 20;
const TURNS = 120;
/** Tokens of a prompt that fills a small context. */
const FULL_PROMPT = 8_192;

function promptOf({ exchanges }: Dialogue, turn: number): BaseMessage[] {
  const window = exchanges.slice(Math.max(0, turn - WINDOW), turn);
  return [new SystemMessage(SYSTEM), ...window.flatMap(({ user, assistant }) => [new HumanMessage(user), new HumanMessage(assistant)])];
}

/** How far counts are off once they are learned, in per cent of the real count; every third prompt offers tools. */
function errorsOf(dialogues: readonly Dialogue[], count: (text: string) => number): Map<string, number[]> {
  const counts = makeTokenCounts();
  const errors = new Map<string, number[]>();
  for (let turn = 1; turn < TURNS; turn++) {
    for (const dialogue of dialogues) {
      if (turn > dialogue.exchanges.length) continue;
      const messages = promptOf(dialogue, turn);
      const hasTools = turn % 3 === 0;
      const request = { messages, toolTokens: hasTools ? estimateTokens(TOOLS) : 0 };
      const real = messages.reduce((sum, { text }) => sum + count(text) + 4, 3) + (hasTools ? count(TOOLS) : 0);
      const counted = counts.count("model", request);
      if (turn > LEARNED_TURNS) errors.set(dialogue.set, [...(errors.get(dialogue.set) ?? []), 100 * Math.abs(counted / real - 1)]);
      counts.learn("model", request, real);
    }
  }
  return errors;
}

function timesOf(dialogues: readonly Dialogue[]): number[] {
  const counts = makeTokenCounts();
  return dialogues.flatMap((dialogue) => {
    const messages: BaseMessage[] = [];
    for (let turn = 1, tokens = 0; tokens < FULL_PROMPT; turn++) {
      const { user = "", assistant = "" } = dialogue.exchanges[turn % dialogue.exchanges.length] ?? {};
      tokens += estimateTokens(user + assistant);
      messages.push(new HumanMessage(user), new HumanMessage(assistant));
    }
    return Array.from({ length: 50 }, () => {
      const began = performance.now();
      counts.count("model", { messages });
      return performance.now() - began;
    });
  });
}

/** Figures of how prompts are counted: the error by vocabulary and set, and the time that a full prompt takes. */
export function countFigures(dialogues: readonly Dialogue[]): Figure[] {
  const errors = Object.entries(VOCABULARIES).flatMap(([vocabulary, count]) =>
    [...errorsOf(dialogues, count)].map(([set, off]) =>
      figureOf(`count off, ${vocabulary}, ${set}`, "%", [off], { goal: { atMost: 3, of: "p95" } }),
    ),
  );
  return [...errors, figureOf(`counting a prompt of ${FULL_PROMPT} tokens`, "ms", [timesOf(dialogues)], { goal: { atMost: 2 } })];
}
