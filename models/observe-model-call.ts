import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage, UsageMetadata } from "@langchain/core/messages";
import { NOOP_OBSERVER, type ModelPurpose, type Observer } from "../observe/observer.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../text/tokens.ts";

/** The observer of a model's calls, and their purpose. */
export interface ModelCallObserver {
  observer: Observer;
  purpose: ModelPurpose;
}

export const UNOBSERVED: ModelCallObserver = { observer: NOOP_OBSERVER, purpose: "chat" };

/** The result of a model call, for its observer. */
export interface ModelCallFacts {
  prompt: readonly BaseMessage[];
  answer: string;
  /** Counted by the model's server; without it both counts are estimated. */
  usage: UsageMetadata | undefined;
  /** Milliseconds; undefined when no token came. */
  firstTokenMs?: number | undefined;
  /** The code of an error that is not thrown. */
  outcome?: string | undefined;
}

/** The configured name of a model, else its kind. */
export function modelNameOf(model: Pick<BaseChatModel, "_llmType">): string {
  return "model" in model && typeof model.model === "string" ? model.model : model._llmType();
}

function tokensOf({ usage, prompt, answer }: ModelCallFacts): { inputTokens: number; outputTokens: number; tokensAreEstimated: boolean } {
  if (usage) return { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens, tokensAreEstimated: false };
  const inputTokens = prompt.reduce((sum, { text }) => sum + estimateTokens(text) + TOKENS_PER_MESSAGE, 0);
  return { inputTokens, outputTokens: estimateTokens(answer), tokensAreEstimated: true };
}

/** Runs a model call and reports its facts to the observer. Without an observer it counts nothing. */
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

/** Runs and reports a call that returns the whole answer with its tool calls. */
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
