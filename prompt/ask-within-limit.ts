import type { BaseMessage } from "@langchain/core/messages";
import type { PromptLimits } from "../models/facts/prompt-limits.ts";
import { type Refusal, refusalOf } from "../models/facts/refusal.ts";
import { cannotSee, type Sight } from "../models/facts/sight.ts";
import { hasPictures, withoutPictures } from "../models/wire/pictured-message.ts";
import type { ModelAnswer } from "../models/stream-answer.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { ContextCompressed } from "../turn/events.ts";
import type { ModelOptions } from "../turn/model-options.ts";

/** A prompt and its tokens, with those of the offered tools. */
export interface FittingPrompt {
  messages: BaseMessage[];
  tokens: number;
  /** It fits without cuts. */
  isWhole: boolean;
}

export interface AskWithinLimitParts<Prompt> {
  limits: PromptLimits;
  /** Its name. */
  model: string;
  runtime: TurnRuntime;
  assemble: (tokenBudget: number) => Prompt | Promise<Prompt>;
  /** Estimated tokens of the offered tools. Default 0. */
  toolTokens?: number | undefined;
  /** Called with each prompt before it is sent. */
  onPrompt?: ((prompt: Prompt, tokenBudget: number) => void) | undefined;
  /** `maxTokens`: the room for the answer. Undefined: the model's own limit. */
  ask: (prompt: Prompt, maxTokens: number | undefined) => Promise<ModelAnswer>;
  /** How a shorter second prompt is made. */
  strategy: ContextCompressed["strategy"];
  sight: Sight;
  /** The message itself has pictures: blind models are not asked. They may answer beside earlier pictures, and read marks for them. */
  mustSee: boolean;
}

export interface AnswerWithinLimit<Prompt> {
  prompt: Prompt;
  answer: ModelAnswer;
  /** The most tokens of a prompt, as known after the answer. */
  limit: number;
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
  { limits, model, assemble, toolTokens = 0 }: AskWithinLimitParts<Prompt>,
  budget: number,
): Promise<Prompt> {
  let estimated = budget;
  let prompt = await assemble(estimated);
  if (!limits.counts.knows(model)) return prompt;
  const counted = (one: Prompt): Prompt => ({ ...one, tokens: limits.counts.count(model, { messages: one.messages, toolTokens }) });
  prompt = counted(prompt);
  for (let round = 0; round < ROUNDS; round++) {
    const isOver = prompt.tokens > budget;
    if (!isOver && (prompt.isWhole || prompt.tokens >= budget * WELL_FILLED)) break;
    estimated = Math.floor((estimated * budget * AIMED_AT) / prompt.tokens);
    const next = counted(await assemble(estimated));
    if (!isOver && next.tokens > budget) break;
    prompt = next;
  }
  return prompt;
}

const unseen = (model: string): ModelAnswer => ({ text: "", toolCalls: [], usage: undefined, error: cannotSee(model), cut: null });

/** Asks the model. When its server refuses the length, learns from that and asks again with a prompt that fits. */
export async function askWithinLimit<Prompt extends FittingPrompt>(parts: AskWithinLimitParts<Prompt>): Promise<AnswerWithinLimit<Prompt>> {
  const { limits, model, runtime, toolTokens = 0, onPrompt, ask, strategy, sight, mustSee } = parts;

  async function attempt(budget: number, refused?: Prompt): Promise<{ prompt: Prompt; answer: ModelAnswer }> {
    const whole = await fitCounted(parts, budget);
    const isBlind = sight.sees(model) === false;
    if (isBlind && mustSee) return { prompt: whole, answer: unseen(model) };
    const prompt = isBlind && hasPictures(whole.messages) ? { ...whole, messages: withoutPictures(whole.messages) } : whole;
    if (refused) emit(runtime, { status: "context_compressed", content: compressed(strategy, refused, prompt, budget) });
    onPrompt?.(prompt, budget);
    const answer = await ask(prompt, limits.answerTokens(model, prompt.tokens));
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

/** The turn's options with an answer of at most `maxTokens`. */
export function boundedOptions(options: ModelOptions | null | undefined, maxTokens: number | undefined): ModelOptions | undefined {
  if (maxTokens === undefined) return options ?? undefined;
  return { ...options, max_tokens: Math.min(maxTokens, options?.max_tokens ?? Infinity) };
}

const PERCENT = 100;

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
