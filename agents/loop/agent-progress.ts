import { shareOf } from "../../models/facts/prompt-budget.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import type { StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { ResumedTurn, TurnSoFar } from "../../turn/resumed-turn.ts";
import { NO_CONTEXT } from "../../turn/usage.ts";

/** What a turn has done so far. `elapsedMs`: before its last question. */
export interface AgentProgress extends Omit<TurnSoFar, "models"> {
  /** The names of the models that answered; the last one last. */
  models: Set<string>;
  askedAt: number;
}

export function startProgress(resumed: ResumedTurn | undefined, steps: readonly StepOfMessage[], isStepping: boolean): AgentProgress {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, estimated: false, ...NO_CONTEXT };
  const soFar = resumed?.state.soFar ?? { usage, steps: 0, called: [], models: [], elapsedMs: 0, isStepping };
  const stored = steps.filter(({ turnId }) => turnId === resumed?.turnId).map(({ seq }) => seq);
  const last = Math.max(soFar.steps, ...stored);
  return { ...soFar, called: [...soFar.called], models: new Set(soFar.models), steps: last, askedAt: performance.now() };
}

/** `usage_ratio` is that of the last prompt. */
export function addUsage(
  progress: AgentProgress,
  { usage, text, toolCalls }: ModelAnswer,
  { promptTokens, limit }: { promptTokens: number; limit: number },
): void {
  const prompt = usage?.input_tokens ?? promptTokens;
  const completion = usage?.output_tokens ?? estimateTokens(text + toolCalls.map((call) => call.name + call.arguments).join(""));
  const sum = progress.usage;
  progress.usage = {
    prompt_tokens: sum.prompt_tokens + prompt,
    completion_tokens: sum.completion_tokens + completion,
    total_tokens: sum.total_tokens + (usage?.total_tokens ?? prompt + completion),
    estimated: sum.estimated || !usage,
    cached_tokens:
      usage?.input_token_details?.cache_read === undefined
        ? sum.cached_tokens
        : (sum.cached_tokens ?? 0) + usage.input_token_details.cache_read,
    context_limit: limit,
    usage_ratio: shareOf(prompt, limit),
  };
}
