import { formedAnswer } from "../models/formed-answer.ts";
import { askInTurn, type ModelChoice } from "../models/model-choice.ts";
import type { AnswerRequest, ModelAnswer } from "../models/stream-answer.ts";
import type { PromptLimits } from "../models/facts/prompt-limits.ts";
import { type Sight, cannotSee } from "../models/facts/sight.ts";
import type { Observer } from "../observe/observer.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { AnswerTimeouts } from "../turn/deadlines.ts";
import type { ContextCompressed } from "../turn/events.ts";
import type { ModelOptions } from "../turn/model-options.ts";
import type { BaseMessage } from "@langchain/core/messages";
import { type Refusal, refusalOf } from "../models/facts/refusal.ts";
import { hasPictures, withoutPictures } from "../models/wire/pictured-message.ts";

export interface AskingTurn {
  limits: PromptLimits;
  sight: Sight;
  timeouts: AnswerTimeouts;
  observer: Observer;
  runtime: TurnRuntime;
  signal: AbortSignal;
}

/** A prompt and its tokens, with those of the offered tools. */
export interface FittingPrompt {
  messages: BaseMessage[];
  tokens: number;
  /** It fits without cuts. */
  isWhole: boolean;
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

/** `prompt`: the one that was answered. `answeredBy`: the name of the model. */
export interface AskedModel<Prompt> {
  prompt: Prompt;
  answer: ModelAnswer;
  /** The most tokens of a prompt, as known after the answer. */
  limit: number;
  answeredBy: string;
}

/** The refusal of a prompt's length; null after any part of an answer, and for other failures. */
function refusedLength({ text, error }: ModelAnswer): Refusal | null {
  return text === "" ? refusalOf(error) : null;
}

const ROUNDS = 4;
/** A cut prompt that takes less of its room is made again. */
const WELL_FILLED = 0.9;
/** So that one more round is mostly enough. */
const AIMED_AT = 0.98;

/**
 * Makes a prompt of at most `budget` tokens as this model counts them. The estimate may be wrong, so it repeats until the prompt fits and,
 * if cut, is well filled.
 */
async function fitCounted<Prompt extends FittingPrompt>(
  { counts }: PromptLimits,
  { assemble, toolTokens = 0 }: ModelCall<Prompt>,
  model: string,
  budget: number,
): Promise<Prompt> {
  let estimated = budget;
  let prompt = await assemble(estimated, model);
  if (!counts.knows(model)) return prompt;
  const counted = (one: Prompt): Prompt => ({ ...one, tokens: counts.count(model, { messages: one.messages, toolTokens }) });
  prompt = counted(prompt);
  for (let round = 0; round < ROUNDS; round++) {
    const isOver = prompt.tokens > budget;
    if (!isOver && (prompt.isWhole || prompt.tokens >= budget * WELL_FILLED)) break;
    estimated = Math.floor((estimated * budget * AIMED_AT) / prompt.tokens);
    const next = counted(await assemble(estimated, model));
    if (!isOver && next.tokens > budget) break;
    prompt = next;
  }
  return prompt;
}

/** What the turn asks of the model, with an answer of at most `maxTokens`. */
function boundedOptions(options: ModelOptions | null | undefined, maxTokens: number | undefined): ModelOptions | undefined {
  if (maxTokens === undefined) return options ?? undefined;
  return { ...options, max_tokens: Math.min(maxTokens, options?.max_tokens ?? Infinity) };
}

const PERCENT = 100;

/** How a prompt was made shorter, for the event that tells so. */
export function compressed(
  strategy: ContextCompressed["strategy"],
  before: Pick<FittingPrompt, "messages" | "tokens">,
  after: Pick<FittingPrompt, "messages" | "tokens">,
  budget: number,
): ContextCompressed {
  return {
    strategy,
    original_message_count: before.messages.length,
    final_message_count: after.messages.length,
    tokens_before: before.tokens,
    tokens_after: after.tokens,
    budget,
    utilization_pct: budget > 0 ? Math.round((after.tokens / budget) * PERCENT) : PERCENT,
  };
}

const unseen = (model: string): ModelAnswer => ({ text: "", toolCalls: [], usage: undefined, error: cannotSee(model), cut: null });

/** Sends a prompt. `maxTokens`: what it leaves for the answer. Undefined: as much as the model is made for. */
type Send = (prompt: FittingPrompt, maxTokens: number | undefined) => Promise<ModelAnswer>;

/** Asks one model. When its server refuses the length of the prompt, learns from that and asks once more with one that fits. */
async function askWithinLimit<Prompt extends FittingPrompt>(
  { limits, sight, runtime }: AskingTurn,
  call: ModelCall<Prompt>,
  model: string,
  send: Send,
): Promise<Omit<AskedModel<Prompt>, "answeredBy">> {
  const { toolTokens = 0, onPrompt, strategy, mustSee } = call;

  async function attempt(budget: number, refused?: Prompt): Promise<{ prompt: Prompt; answer: ModelAnswer }> {
    const whole = await fitCounted(limits, call, model, budget);
    const isBlind = sight.sees(model) === false;
    if (isBlind && mustSee) return { prompt: whole, answer: unseen(model) };
    const prompt = isBlind && hasPictures(whole.messages) ? { ...whole, messages: withoutPictures(whole.messages) } : whole;
    if (refused) emit(runtime, { status: "context_compressed", content: compressed(strategy, refused, prompt, budget) });
    onPrompt?.(prompt, budget);
    const answer = await send(prompt, limits.answerTokens(model, prompt.tokens));
    if (answer.usage) limits.counts.learn(model, { messages: prompt.messages, toolTokens }, answer.usage.input_tokens);
    if (answer.error?.code !== "model_cannot_see" || isBlind) return { prompt, answer };
    sight.learnBlind(model);
    return mustSee ? { prompt, answer: { ...answer, error: cannotSee(model, answer.error) } } : attempt(budget);
  }

  const first = await attempt(limits.of(model));
  const refusal = refusedLength(first.answer);
  if (!refusal) return { ...first, limit: limits.of(model) };
  const budget = limits.refused(model, refusal, first.prompt.tokens);
  return { ...(await attempt(budget, first.prompt)), limit: limits.of(model) };
}

/**
 * Asks a model in a turn. Never throws for the model: its failure is in the answer. The steps:
 * 1. choose: one model after the other, until one begins to answer;
 * 2. assemble a prompt for this model, which may make room by a summary (see `withRoom`);
 * 3. fit it to the model's limit, and again when its server refuses the length;
 * 4. send it;
 * 5. form: ask again for an answer in the wrong form.
 */
export function askModel<Prompt extends FittingPrompt>(turn: AskingTurn, call: ModelCall<Prompt>): Promise<AskedModel<Prompt>> {
  const { timeouts, observer, runtime, signal } = turn;
  const { choices, modelOptions, send = formedAnswer, tools, messageId, onToken } = call;
  const request = {
    ...{ tools, messageId, onToken, timeouts, signal },
    callbacks: runtime.callbacks,
    watched: { observer, purpose: "chat" as const },
    onThought: (content: string) => emit(runtime, { status: "thought", content }),
  };
  return askInTurn(
    choices,
    ({ name, model }, { isLast }) =>
      askWithinLimit(turn, call, name, ({ messages }, maxTokens) =>
        send({
          ...{ ...request, model, prompt: messages, patience: isLast ? "long" : "short" },
          modelOptions: boundedOptions(modelOptions, maxTokens),
        }),
      ),
    runtime.context?.onError,
  );
}
