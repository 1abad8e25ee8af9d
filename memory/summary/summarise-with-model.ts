import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AppError } from "../../errors/app-error.ts";
import type { AnswerTimeouts } from "../../models/deadlines.ts";
import { shortenText } from "../../text/tokens.ts";
import { unquoteLines } from "../../text/fence.ts";
import { streamAnswer } from "../../models/stream-answer.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { Summarise } from "./summarise-conversation.ts";
import { ASKED_SUMMARY_TOKENS, summaryPrompt } from "./summary-prompt.ts";

/** The longest summary that is kept, in tokens; the middle of a longer one is cut, and marked. */
const MAX_SUMMARY_TOKENS = 2 * ASKED_SUMMARY_TOKENS;

/** Asks a model for the summary, streamed, so that the deadlines of an answer hold. Messages of more than `stepTokens` are shortened. */
export function makeSummariseWithModel({
  model,
  timeouts,
  stepTokens,
  observer = NOOP_OBSERVER,
}: {
  model: BaseChatModel;
  timeouts: AnswerTimeouts;
  stepTokens: number;
  observer?: Observer;
}): Summarise {
  return async function summariseWithModel(input, signal) {
    const { text, error } = await streamAnswer({
      model,
      prompt: summaryPrompt(input, stepTokens),
      timeouts,
      signal,
      watched: { observer, purpose: "summary" },
      onToken: () => undefined,
    });
    if (error) throw error;
    const summary = unquoteLines(text.trim()).toWellFormed();
    if (!summary) throw new AppError("model_incomplete", "The summary model answered with nothing but blanks.");
    return shortenText(summary, MAX_SUMMARY_TOKENS);
  };
}
