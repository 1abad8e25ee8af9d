import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { v7 as uuidv7 } from "uuid";
import type { ConversationState, ConversationUpdate, Usage } from "../graph/state.ts";
import type { TurnRuntime } from "../graph/turn-context.ts";
import { millisecondsSince } from "../graph/milliseconds-since.ts";
import type { AnswerTimeouts } from "../models/answer-deadlines.ts";
import { estimateTokens } from "../models/estimate-tokens.ts";
import { streamAnswer, type ModelAnswer } from "../models/stream-answer.ts";
import { NOBODY, type Observer } from "../observe/observer.ts";
import type { TurnStore } from "../stores/postgres/turn-store.ts";
import { answerOfTurn } from "./answer-of-turn.ts";
import { assemblePrompt, type AssembledPrompt } from "./assemble-prompt.ts";
import { usableCoreMemory } from "./core-memory.ts";
import { emit } from "./emit.ts";
import { keepLease } from "./keep-lease.ts";
import type { Node } from "./measured.ts";
import { noticeOfLimit } from "./notice-of-limit.ts";

export interface GenerateRagParts {
  chatModel: BaseChatModel;
  turns: TurnStore;
  leaseMs: number;
  timeouts: AnswerTimeouts;
  /** How many tokens a prompt may have. */
  tokenBudget: number;
  /** Hears of the model's calls. Default: nobody. */
  observer?: Observer;
}

function toUsage({ usage, text }: ModelAnswer, prompt: AssembledPrompt): Usage {
  if (usage) {
    return {
      prompt_tokens: usage.input_tokens,
      completion_tokens: usage.output_tokens,
      total_tokens: usage.total_tokens,
      estimated: false,
    };
  }
  const completion = estimateTokens(text);
  return { prompt_tokens: prompt.tokens, completion_tokens: completion, total_tokens: prompt.tokens + completion, estimated: true };
}

/**
 * The general generator: assembles the prompt and streams the model's answer, holding the conversation meanwhile. A cancelled or failed
 * call ends the node normally with `partialAnswer` and `error`, so that persist always runs. After an error of an earlier node the model
 * is not asked.
 */
export function makeGenerateRag({ chatModel, turns, leaseMs, timeouts, tokenBudget, observer = NOBODY }: GenerateRagParts): Node {
  return async function generateRag(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, conversationId, turnId, message, windowIsWhole } = state;
    const { conversationSummary: summary, recentMessages: window, episodicMemory: episodes } = state;
    const documents = state.useRetrieval ? { passages: state.retrievalResults, isAway: state.degraded.includes("knowledge") } : null;
    if (state.error) return { ...answerOfTurn(state, "", ""), partialAnswer: true };
    const prompt = assemblePrompt({ coreMemory: usableCoreMemory(state), summary, window, episodes, documents, message, tokenBudget });
    const notice = noticeOfLimit(prompt, { windowIsWhole, tokenBudget });
    if (notice) emit(runtime, { status: "notice", content: notice });
    const began = performance.now();
    let firstTokenMs: number | null = null;
    const answerId = uuidv7();
    const answer = await keepLease({ turns, leaseMs }, { tenantId, userId, conversationId, turnId }, runtime.context?.signal, (signal) =>
      streamAnswer({
        model: chatModel,
        prompt: prompt.messages,
        timeouts,
        signal,
        callbacks: runtime.callbacks,
        messageId: answerId,
        watched: { observer, purpose: "chat" },
        onToken(content) {
          firstTokenMs ??= millisecondsSince(began);
          emit(runtime, { status: "token", content });
        },
      }),
    );
    if (answer.error) runtime.context?.onError?.(answer.error);
    const usage = toUsage(answer, prompt);
    runtime.note?.({
      first_token_ms: firstTokenMs,
      model_ms: millisecondsSince(began),
      prompt_tokens: prompt.receipt.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      window_messages: prompt.receipt.window_messages,
      left_out: prompt.leftOut.messages,
      error: answer.error?.code ?? null,
    });
    return {
      ...answerOfTurn(state, answerId, answer.text),
      usage,
      receipt: prompt.receipt,
      // Messages that the model should know of are in no summary and have no room: the summariser is behind, or switched off.
      degraded: prompt.leftOut.uncovered > 0 || !windowIsWhole ? ["summary"] : [],
      partialAnswer: answer.error !== null,
      error: answer.error?.toContent() ?? null,
    };
  };
}
