import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage, UsageMetadata } from "@langchain/core/messages";
import { NOOP_OBSERVER, type ModelPurpose, type Observer } from "../observe/observer.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../text/tokens.ts";

/** Who watches the calls of one model, and what they are for. */
export interface ModelCallObserver {
  observer: Observer;
  purpose: ModelPurpose;
}

export const UNOBSERVED: ModelCallObserver = { observer: NOOP_OBSERVER, purpose: "chat" };

/** What a model call came to. */
export interface ModelCallFacts {
  prompt: readonly BaseMessage[];
  answer: string;
  /** As counted by the model's server; without it both counts are estimated. */
  usage: UsageMetadata | undefined;
  /** Milliseconds; undefined when nothing was said. */
  firstTokenMs?: number | undefined;
  /** The code of the error it ended in without throwing. */
  outcome?: string | undefined;
}

/** The name that was configured; of a model without one, what kind of model it is. */
export function modelNameOf(model: Pick<BaseChatModel, "_llmType">): string {
  return "model" in model && typeof model.model === "string" ? model.model : model._llmType();
}

function tokensOf({ usage, prompt, answer }: ModelCallFacts): { inputTokens: number; outputTokens: number; tokensAreEstimated: boolean } {
  if (usage) return { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens, tokensAreEstimated: false };
  const inputTokens = prompt.reduce((sum, { text }) => sum + estimateTokens(text) + TOKENS_PER_MESSAGE, 0);
  return { inputTokens, outputTokens: estimateTokens(answer), tokensAreEstimated: true };
}

/** Runs one call of a model under the eyes of whoever watches it. Nothing is counted when nobody does. */
export function observeModelCall<Result>(
  { observer, purpose }: ModelCallObserver,
  model: Pick<BaseChatModel, "_llmType">,
  call: (learn: (facts: ModelCallFacts) => void) => Promise<Result>,
): Promise<Result> {
  if (observer === NOOP_OBSERVER) return call(() => undefined);
  return observer.watch({ work: "model_call", purpose, model: modelNameOf(model) }, (learn) =>
    call((facts) => {
      const { firstTokenMs, outcome } = facts;
      learn({
        ...tokensOf(facts),
        ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
        ...(outcome === undefined ? {} : { outcome }),
      });
    }),
  );
}

/** The same for a call whose answer, with the calls of tools in it, comes whole. */
export function observeWholeAnswer(
  watched: ModelCallObserver,
  model: Pick<BaseChatModel, "_llmType">,
  prompt: readonly BaseMessage[],
  ask: () => Promise<AIMessageChunk>,
): Promise<AIMessageChunk> {
  return observeModelCall(watched, model, async (learn) => {
    const given = await ask();
    learn({ prompt, answer: given.text + JSON.stringify(given.tool_calls), usage: given.usage_metadata });
    return given;
  });
}
