import type { AppError } from "../../errors/app-error.ts";
import { answeredError, bodyText } from "../wire/server-words.ts";

/** A server's words about a prompt that is too long; null: it does not say. */
export interface Refusal {
  limit: number | null;
  /** The server's count of the prompt. */
  prompt: number | null;
}

/** The first that fits holds. Servers' words are in `test/models/refusals.ts`. */
const LIMIT = [
  /n_ctx"?\s*[:=]\s*(\d+)/,
  />= n_ctx \((\d+)\)/, // LM Studio
  /maximum prompt length is (\d+)/, // xAI
  /while limit is (\d+)/, // Cerebras
  /max_seq_len \((\d+)\)/, // SiliconFlow
  /must have less than (\d+) tokens/, // TEI
  /Max size: (\d+) tokens/, // GitHub Models
  /exceeds the limit of (\d+)/, // GitHub Copilot
  /cannot exceed (\d+)/, // Cohere
  /exceeds context length (\d+)/, // LM Studio of 2023
  /\b\d{1,9}(?: \+ \d{1,9}| tokens) > (\d{1,9})/, // Anthropic
  /\bLimit (\d+), Requested \d+/, // a minute's limit, which one request may not exceed either
  /\b(\d{1,9}) maximum context length/, // Mistral
  /must be <= (\d+)/, // TGI
  /input length should be \[1, (\d+)\]/, // DashScope
  /maximum number of tokens allowed \((\d+)\)/, // Gemini
  /(?:context|model|token|input|configured) (?:length|size|window|limit)(?! by )[^\d]{0,30}(\d+)/i,
];
const PROMPT = [
  /n_prompt_tokens"?\s*[:=]\s*(\d+)/,
  /n_keep(?::| \()\s*(\d+)/,
  /Current length is (\d+)/,
  /(?:prompt_tokens|max_total_tokens) \((\d+)\)/,
  /prompt is too long: (\d+)/i,
  /Given: (\d+)/,
  /prompt token count of (\d+)/,
  /received (\d+)\. Try/,
  /Input length (\d+)/,
  /\b(\d{1,9})(?: \+ \d{1,9}| tokens) > \d{1,9}/,
  /\bLimit \d+, Requested (\d+)/,
  /\((\d+) (?:tokens )?(?:in the (?:messages|prompt|input)|of text input)/,
  /resulted in (\d+) tokens/,
  /(?:passed|has|contains|Given:) (\d+) (?:`inputs` |input )?tokens/,
  /requested (\d+) tokens in the (?:messages|prompt)/,
  /(?:request|input|prompt|tokens|token count) \((?:length )?(\d+)/i,
];

function firstNumber(patterns: readonly RegExp[], words: string): number | null {
  for (const pattern of patterns) {
    const found = Number(pattern.exec(words)?.[1] ?? 0);
    if (found > 0) return found;
  }
  return null;
}

/** MiniMax writes the code of the error after its words. */
export function readRefusal(words: string): Refusal {
  const plain = words.replace("(2013)", "").replace(/(?<=\d)[,_](?=\d{3}\b)/g, "");
  return { limit: firstNumber(LIMIT, plain), prompt: firstNumber(PROMPT, plain) };
}

export function refusalOf(error: AppError | null): Refusal | null {
  if (error?.code !== "context_too_long") return null;
  const answered = answeredError(error.cause);
  return answered ? readRefusal(bodyText(answered)) : { limit: null, prompt: null };
}
