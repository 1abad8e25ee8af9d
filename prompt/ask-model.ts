import { formedAnswer } from "../models/formed-answer.ts";
import { askInTurn, type ModelChoice } from "../models/model-choice.ts";
import type { AnswerRequest, ModelAnswer } from "../models/stream-answer.ts";
import type { PromptLimits } from "../models/facts/prompt-limits.ts";
import type { Sight } from "../models/facts/sight.ts";
import type { Observer } from "../observe/observer.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { AnswerTimeouts } from "../turn/deadlines.ts";
import type { ContextCompressed } from "../turn/events.ts";
import type { ModelOptions } from "../turn/model-options.ts";
import { type AnswerWithinLimit, askWithinLimit, boundedOptions, type FittingPrompt } from "./ask-within-limit.ts";

export interface AskingTurn {
  limits: PromptLimits;
  sight: Sight;
  timeouts: AnswerTimeouts;
  observer: Observer;
  runtime: TurnRuntime;
  signal: AbortSignal;
}

export interface ModelCall<Prompt> extends Pick<AnswerRequest, "tools" | "messageId" | "onToken"> {
  choices: readonly ModelChoice[];
  /** Makes the prompt for so many estimated tokens of a model, by its name. */
  assemble: (tokenBudget: number, model: string) => Prompt | Promise<Prompt>;
  /** Estimated tokens of the offered tools. Default 0. */
  toolTokens?: number;
  /** How a shorter second prompt is made. */
  strategy: ContextCompressed["strategy"];
  /** The message itself has pictures: blind models are not asked. They may answer beside earlier pictures, and read marks for them. */
  mustSee: boolean;
  modelOptions: ModelOptions | null | undefined;
  /** Called with each prompt before it is sent. */
  onPrompt?: (prompt: Prompt, tokenBudget: number) => void;
  /** Sends a prompt that fits. Default: `formedAnswer`. */
  send?: (request: AnswerRequest) => Promise<ModelAnswer>;
}

export type AskedModel<Prompt> = AnswerWithinLimit<Prompt> & { answeredBy: string };

/**
 * Asks a model in a turn. Never throws for the model: its failure is in the answer. The steps:
 * 1. choose: one model after the other, until one begins to answer;
 * 2. assemble a prompt for this model, which may make room by a summary (see `withRoom`);
 * 3. fit it to the model's limit, and again when its server refuses the length;
 * 4. send it;
 * 5. form: ask again for an answer in the wrong form.
 */
export function askModel<Prompt extends FittingPrompt>(turn: AskingTurn, call: ModelCall<Prompt>): Promise<AskedModel<Prompt>> {
  const { limits, sight, timeouts, observer, runtime, signal } = turn;
  const { choices, assemble, toolTokens, strategy, mustSee, modelOptions, onPrompt, send = formedAnswer } = call;
  const { tools, messageId, onToken } = call;
  const request = {
    ...{ tools, messageId, onToken, timeouts, signal },
    callbacks: runtime.callbacks,
    watched: { observer, purpose: "chat" as const },
    onThought: (content: string) => emit(runtime, { status: "thought", content }),
  };
  return askInTurn(
    choices,
    ({ name, model }, { isLast }) =>
      askWithinLimit({
        ...{ limits, sight, mustSee, runtime, toolTokens, onPrompt, strategy, model: name },
        assemble: (tokenBudget) => assemble(tokenBudget, name),
        ask: ({ messages }, maxTokens) =>
          send({
            ...{ ...request, model, prompt: messages, patience: isLast ? "long" : "short" },
            modelOptions: boundedOptions(modelOptions, maxTokens),
          }),
      }),
    runtime.context?.onError,
  );
}
