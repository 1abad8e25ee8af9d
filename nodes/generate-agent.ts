import { v7 as uuidv7 } from "uuid";
import type { AgentCatalog } from "../agents/agent-catalog.ts";
import { type AgentTool, type ToolSource, toolsOf } from "../agents/tool.ts";
import { toAppError } from "../errors/app-error.ts";
import { modelName } from "../models/model-name.ts";
import type { ModelPrices } from "../models/facts/model-facts.ts";
import { costOf } from "../models/facts/prompt-budget.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import type { Agent } from "../turn/agent.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import { millisecondsSince } from "../turn/events.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import { type AgentTurn, modelStep, runAgent, startProgress } from "./agent/agent-run.ts";
import { makeAskAgent } from "./agent/ask-agent.ts";
import { toolTokens } from "./agent/fit-loop.ts";
import { groupByQuestion, withSteps } from "./agent/window-with-steps.ts";
import { answerUpdate, promptNotices, promptOf } from "./generate-rag.ts";
import type { AssembledPrompt } from "./prompt/assemble-prompt.ts";
import type { Node } from "./node.ts";
import { retryWhileUnreachable, withLease } from "./turn-lease.ts";

type SharedParts = Pick<AgentTurn, "chatModelOf" | "steps" | "hooks" | "timeouts" | "toolTimeoutMs" | "observer">;

/** `toolTimeoutMs`: milliseconds that a call may take. */
export interface GenerateAgentParts extends SharedParts {
  turns: TurnStore;
  catalog: AgentCatalog;
  tools: ToolSource;
  leaseMs: number;
  /** Of the service, for every turn. */
  instructions: string;
  /** The most tokens of a prompt, with the tools and their outputs. */
  tokenBudget: () => number;
  /** Of the chat model. */
  prices: () => ModelPrices | null;
}

/** For people who look at the agents of a conversation. */
function describeState(interaction: string, called: readonly string[]): string {
  if (called.length === 0) return `${interaction} without a tool`;
  return `${interaction} after ${called.length} ${called.length === 1 ? "call" : "calls"}: ${[...new Set(called)].join(", ")}`.slice(
    0,
    500,
  );
}

/**
 * Answers with an agent that has tools: model and tools take turns until the model answers. Each call is stored before it runs. Ends
 * normally with `partialAnswer` and `error` when something fails, so that persist always runs.
 */
export function makeGenerateAgent({
  turns,
  catalog,
  tools: toolSource,
  leaseMs,
  instructions,
  tokenBudget: findBudget,
  prices,
  ...shared
}: GenerateAgentParts): Node {
  const { steps, chatModelOf } = shared;
  const isPriced = (agent: Agent): boolean => modelName(chatModelOf(agent)) === modelName(chatModelOf(null));

  /** The tools that the agent may see, with the one that asks its subagents. */
  async function loadTools(agent: Agent, tenantId: string, available: readonly AgentTool[]): Promise<(turn: AgentTurn) => AgentTool[]> {
    const own = toolsOf(agent, available);
    const known = agent.subagents.length > 0 ? await catalog.list(tenantId) : [];
    const subagents = known.filter(({ name }) => agent.subagents.includes(name) && name !== agent.name);
    return (turn) => (subagents.length > 0 ? [...own, makeAskAgent(turn, subagents, available)] : own);
  }

  return async function generateAgent(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { agent } = state;
    if (state.error || !agent) return { ...answerUpdate(state, "", ""), partialAnswer: true };
    const { tenantId, userId, conversationId, turnId, currentMessageId, recentMessages } = state;
    const held = { tenantId, userId, conversationId, turnId };
    const progress = startProgress();
    const tokenBudget = findBudget();
    const began = progress.askedAt;
    const answerId = uuidv7();
    let firstTokenMs: number | null = null;
    const onToken = (content: string): void => {
      firstTokenMs ??= millisecondsSince(began);
      emit(runtime, { status: "token", content });
    };

    const { prompt, answer, error } = await withLease({ turns, leaseMs }, held, runtime.context?.signal, async (signal) => {
      let prompt: AssembledPrompt | null = null; // until the model is asked
      try {
        const questionIds = [...recentMessages.filter(({ role }) => role === "user").map(({ id }) => id), currentMessageId];
        const [available, before] = await Promise.all([
          toolSource({ tenantId, userId }),
          retryWhileUnreachable(() => steps.ofQuestions(held, questionIds), signal),
        ]);
        const earlier = before.filter(({ questionId }) => questionId === currentMessageId);
        const turn: AgentTurn = { ...shared, tokenBudget, held, messageId: currentMessageId, runtime, signal, earlier, progress };
        const tools = (await loadTools(agent, tenantId, available))(turn);
        const schemas = toolTokens(tools);
        prompt = promptOf(state, instructions, Math.max(0, tokenBudget - schemas));
        const { windowIsWhole } = state;
        for (const content of promptNotices(prompt, { windowIsWhole, tokenBudget })) emit(runtime, { status: "notice", content });
        const room = tokenBudget - schemas - prompt.tokens;
        const messages = withSteps(prompt.messages, groupByQuestion(before, questionIds), { currentMessageId, room });
        const answer = await runAgent(turn, agent, { prompt: messages, tools }, { answerId, onToken });
        await retryWhileUnreachable(() => steps.begin(held, [modelStep(turn, agent, answer)]), signal); // its text is the message
        progress.steps++;
        return { prompt, answer, error: answer.error };
      } catch (thrown) {
        return { prompt, answer: null, error: toAppError(signal.aborted ? signal.reason : thrown) };
      }
    });
    if (error) runtime.context?.onError?.(error);
    const interaction = error === null ? "answered" : error.code === "turn_cancelled" ? "cancelled" : "failed";
    const note = { name: agent.name, interaction, state: describeState(interaction, progress.called) };
    await steps.noteAgent(held, note).catch((lost: unknown) => runtime.context?.onError?.(toAppError(lost)));
    runtime.note?.({ first_token_ms: firstTokenMs, agent: agent.name, tool_calls: progress.called.length, error: error?.code ?? null });
    return {
      ...answerUpdate(state, answerId, answer?.text ?? ""),
      usage: progress.usage.context_limit === null ? null : progress.usage, // null: the model was not asked
      cost: isPriced(agent) ? costOf(prices(), progress.usage) : null,
      receipt: prompt?.receipt ?? null,
      toolCalls: progress.called.length,
      steps: progress.steps,
      degraded: (prompt?.leftOut.uncovered ?? 0) > 0 || !state.windowIsWhole ? ["summary"] : [],
      partialAnswer: error !== null,
      cut: answer?.cut ?? null,
      error: error?.toContent() ?? null,
    };
  };
}
