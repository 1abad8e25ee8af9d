import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage, UsageMetadata } from "@langchain/core/messages";
import { type ModelPurpose, NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../text/tokens.ts";
import { modelName } from "./model-name.ts";
import { pictureTokensIn } from "./wire/pictured-message.ts";

export interface ModelCallObserver {
  observer: Observer;
  purpose: ModelPurpose;
}

interface CallFacts {
  answer: string;
  /** Without it both counts are estimated. */
  usage: UsageMetadata | undefined;
  firstTokenMs?: number | undefined;
  /** The code of an error that is not thrown. */
  outcome?: string | undefined;
}

/** Runs a model call and reports its facts. Without an observer it counts nothing. */
export function observeCall<Result>(
  { observer, purpose }: ModelCallObserver,
  model: BaseChatModel,
  prompt: readonly BaseMessage[],
  call: (learn: (facts: CallFacts) => void) => Promise<Result>,
): Promise<Result> {
  if (observer === NOOP_OBSERVER) return call(() => undefined);
  return observer.watch({ work: "model_call", purpose, model: modelName(model) }, (learn) =>
    call(({ answer, usage, firstTokenMs, outcome }) => {
      const inputTokens =
        usage?.input_tokens ?? prompt.reduce((sum, { text }) => sum + estimateTokens(text) + TOKENS_PER_MESSAGE, pictureTokensIn(prompt));
      learn({
        inputTokens,
        outputTokens: usage?.output_tokens ?? estimateTokens(answer),
        tokensAreEstimated: usage === undefined,
        cachedTokens: usage?.input_token_details?.cache_read ?? 0,
        ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
        ...(outcome === undefined ? {} : { outcome }),
      });
    }),
  );
}
