import type { BaseMessage } from "@langchain/core/messages";
import type { PromptLimits } from "../../models/facts/prompt-limits.ts";
import { type Refusal, refusalOf } from "../../models/facts/refusal.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import { emit, type TurnRuntime } from "../../turn/context.ts";
import type { ContextCompressed } from "../../turn/events.ts";

/** A prompt, as long as it is estimated. */
interface FittingPrompt {
  messages: BaseMessage[];
  tokens: number;
}

export interface AskWithinLimitParts<Prompt> {
  limits: PromptLimits;
  /** Its name. */
  model: string;
  runtime: TurnRuntime;
  /** Makes the prompt for so many tokens. */
  assemble: (tokenBudget: number) => Prompt;
  ask: (prompt: Prompt) => Promise<ModelAnswer>;
  /** How a prompt that was made anew is shorter. */
  strategy: ContextCompressed["strategy"];
}

export interface AnswerWithinLimit<Prompt> {
  /** The one that was answered. */
  prompt: Prompt;
  answer: ModelAnswer;
  /** The most tokens of a prompt, as is known behind the answer. */
  limit: number;
}

/** The refusal of a prompt's length; null when something of an answer has come, or another thing failed. */
function refusedLength({ text, error }: ModelAnswer): Refusal | null {
  return text === "" ? refusalOf(error) : null;
}

/** Asks the model. When its server refuses the length of the prompt, learns from that and asks once more with one that fits. */
export async function askWithinLimit<Prompt extends FittingPrompt>(parts: AskWithinLimitParts<Prompt>): Promise<AnswerWithinLimit<Prompt>> {
  const { limits, model, runtime, assemble, ask, strategy } = parts;
  const prompt = assemble(limits.of(model));
  const answer = await ask(prompt);
  const refusal = refusedLength(answer);
  if (!refusal) return { prompt, answer, limit: limits.of(model) };
  const budget = limits.refused(model, refusal, prompt.tokens);
  const shorter = assemble(budget);
  emit(runtime, { status: "context_compressed", content: compressed(strategy, prompt, shorter, budget) });
  return { prompt: shorter, answer: await ask(shorter), limit: limits.of(model) };
}

const PERCENT = 100;

export function compressed(
  strategy: ContextCompressed["strategy"],
  before: FittingPrompt,
  after: FittingPrompt,
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
