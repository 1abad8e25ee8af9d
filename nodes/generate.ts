import type { AgentTurn } from "../agents/agent-turn.ts";
import { noteRun } from "../agents/loop/answer-from-steps.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import { emit, type TurnRuntime, type Node } from "../turn/context.ts";
import { millisecondsSince } from "../turn/events.ts";
import type { ModelPrices } from "../models/facts/model-facts.ts";
import { costOf } from "../models/facts/prompt-budget.ts";
import type { ChooseModels } from "../models/model-choice.ts";
import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import { type MakeRoom, withRoom } from "../prompt/make-room.ts";
import { tellNearLimit, toUsage, answerUpdate } from "./answer-update.ts";
import { askModel, type AskingTurn } from "../prompt/ask-model.ts";
import { withLease } from "../stores/postgres/turns/turn-lease.ts";
import { promptNotices, type TurnPrompt, isBlind, type PromptSettings, promptOf } from "../prompt/turn-prompt.ts";

export interface GenerateParts extends Pick<AskingTurn, "limits" | "timeouts" | "observer"> {
  chooseModels: ChooseModels;
  turns: TurnStore;
  leaseMs: number;
  settings: PromptSettings;
  /** Null: nothing is summarised before an answer. */
  makeRoom: MakeRoom | null;
  /** Null: unknown. */
  prices: (model: string) => ModelPrices | null;
  /** Keeps what agents without tools did. */
  steps: AgentTurn["steps"];
}

/**
 * Assembles the prompt and streams the model's answer. A cancelled or failed call sets `partialAnswer` and `error` instead of throwing, so
 * that persist always runs. After an earlier node's error the model is not asked.
 */
export function makeGenerate(parts: GenerateParts): Node {
  const { chooseModels, turns, leaseMs, settings, makeRoom, prices, steps, ...shared } = parts;
  const asking = { ...shared, sight: settings.sight };
  return async function generate(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { tenantId, userId, conversationId, turnId, continued } = state;
    if (state.error) return { ...answerUpdate(state, "", ""), partialAnswer: true };
    const began = performance.now();
    let firstTokenMs: number | null = null;
    const answerId = continued?.answerId ?? turnId;
    const choices = chooseModels({ model: state.requestedModel, agent: state.agent });
    const held = { tenantId, userId, conversationId, turnId };
    const { prompt, answer, limit, answeredBy } = await withLease({ turns, leaseMs }, held, runtime.context?.signal, (signal) =>
      askModel<TurnPrompt>(
        { ...asking, runtime, signal },
        {
          choices,
          assemble: withRoom({ makeRoom, state, runtime, signal }, (now, tokenBudget, model) =>
            promptOf(now, settings, { tokenBudget, model }),
          ),
          strategy: "truncate",
          mustSee: state.pictures.length > 0,
          modelOptions: state.modelOptions,
          messageId: answerId,
          onPrompt(prompt, tokenBudget) {
            for (const content of promptNotices(prompt, tokenBudget)) emit(runtime, { status: "notice", content });
          },
          onToken(content) {
            firstTokenMs ??= millisecondsSince(began);
            emit(runtime, { status: "token", content });
          },
        },
      ),
    );
    if (answer.error) runtime.context?.onError?.(answer.error);
    const usage = toUsage(answer, prompt, limit);
    tellNearLimit(runtime, usage, state);
    runtime.note?.({
      first_token_ms: firstTokenMs,
      model_ms: millisecondsSince(began),
      prompt_tokens: prompt.receipt.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      cut: answer.cut,
      window_messages: prompt.receipt.window_messages,
      left_out: prompt.leftOut.messages,
      error: answer.error?.code ?? null,
    });
    const cost = costOf(prices(answeredBy), usage);
    if (state.agent) {
      const run = { task: 0, path: [state.agent.name], toolCalls: 0, spent: { tokens: usage.total_tokens, cost } };
      const turn = { steps, held, runtime, state };
      const ended = { input: state.message, output: answer.text, error: answer.error };
      await noteRun({ turn, agent: state.agent, run, elapsedMs: () => performance.now() - began }, ended);
    }
    return {
      ...answerUpdate(state, answerId, answer.text),
      usage,
      cost,
      answeredBy,
      receipt: prompt.receipt,
      degraded: isBlind(prompt) ? ["summary"] : [],
      partialAnswer: answer.error !== null,
      cut: answer.cut,
      error: answer.error?.toContent() ?? null,
    };
  };
}
