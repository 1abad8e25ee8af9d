import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { TOKENS_PER_MESSAGE } from "../../../text/tokens.ts";

export interface PromptMessage {
  role: string;
  content: string;
}

/** Exact tokens in o200k_base, of gpt-4o and later; "<|endoftext|>" is text like any other. */
export const tokensOfText = (text: string): number => countTokens(text, { disallowedSpecial: new Set() });

export const tokensOfMessage = ({ content }: PromptMessage): number => tokensOfText(content) + TOKENS_PER_MESSAGE;

export const tokensOfPrompt = (prompt: PromptMessage[]): number => prompt.reduce((sum, message) => sum + tokensOfMessage(message), 0);

function commonBeginning(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return one.slice(0, length);
}

/** Tokens at the start of `prompt` that equal those of `previous`, byte for byte. */
export function tokensInCommon(previous: PromptMessage[], prompt: PromptMessage[]): number {
  let tokens = 0;
  for (const [index, message] of prompt.entries()) {
    const before = previous[index];
    if (!before || before.role !== message.role) return tokens;
    if (before.content !== message.content) return tokens + tokensOfText(commonBeginning(before.content, message.content));
    tokens += tokensOfMessage(message);
  }
  return tokens;
}
