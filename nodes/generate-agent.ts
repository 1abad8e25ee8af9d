import type { BaseMessage } from "@langchain/core/messages";
import { toAppError } from "../errors/app-error.ts";
import { type ChooseModels, firstChoice } from "../models/model-choice.ts";
import type { ModelPrices } from "../models/facts/model-facts.ts";
import { costOf } from "../models/facts/prompt-budget.ts";
import type { StepOfMessage } from "../stores/postgres/agents/step-store.ts";
import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import type { Agent } from "../turn/agent.ts";
import type { CallerCall } from "../turn/caller-tools.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import { millisecondsSince } from "../turn/events.ts";
import { givenOf, type ResumedTurn } from "../turn/resumed-turn.ts";
import type { Picture } from "../turn/picture.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import { type LoopSoFar, modelStep, runAgent, startAgent } from "../agents/loop/agent-loop.ts";
import { type AgentTurn, startProgress } from "../agents/agent-turn.ts";
import { agentPromptOf, type AgentPromptParts, readForAgent, type RunSubagent } from "../agents/loop/agent-prompt.ts";
import { ASSISTANT_WITH_TOOLS, fitCallerTools, stepsOfResults } from "../agents/loop/fit-caller-tools.ts";
import { picturesOfResults } from "../agents/loop/fit-loop.ts";
import { callAsForced } from "../agents/loop/forced-calls.ts";
import { tellAnswer } from "../agents/questions/ask.ts";
import { isBlind, promptNotices, type PromptSettings, type TurnPrompt } from "../prompt/turn-prompt.ts";
import { answerUpdate } from "./answer-update.ts";
import { type MakeRoom, withRoom } from "../prompt/make-room.ts";
import { tellNearLimit } from "../prompt/turn-usage.ts";
import type { Node } from "./node.ts";
import { retryWhileUnreachable, withLease } from "../stores/postgres/turns/turn-lease.ts";

type SharedParts = Pick<AgentTurn, "steps" | "questions" | "permissions" | "hooks" | "timeouts" | "toolTimeoutMs" | "observer" | "limits">;

/** `toolTimeoutMs`: milliseconds for a call. */
export interface GenerateAgentParts extends SharedParts, Omit<AgentPromptParts, "steps"> {
  turns: TurnStore;
  leaseMs: number;
  settings: PromptSettings;
  /** Null: nothing is summarised before an answer. */
  makeRoom: MakeRoom | null;
  chooseModels: ChooseModels;
  /** Null: unknown. */
  prices: (model: string) => ModelPrices | null;
}

/** For people who look at the agents of a conversation. */
function describeState(interaction: string, called: readonly string[]): string {
  if (called.length === 0) return `${interaction} without a tool`;
  return `${interaction} after ${called.length} ${called.length === 1 ? "call" : "calls"}: ${[...new Set(called)].join(", ")}`.slice(
    0,
    500,
  );
}

/** What a resumed turn has used of its limits. */
function loopSoFar(
  { name }: Agent,
  steps: readonly StepOfMessage[],
  resumed: ResumedTurn | undefined,
): Pick<LoopSoFar, "rounds" | "toolCalls" | "mayStep"> {
  const own = steps.filter(({ turnId, agent }) => resumed?.turnId === turnId && agent === name);
  const rounds = own.filter(({ kind }) => kind === "model").length;
  const mayStep = resumed?.state.about === "step" && resumed.state.pending.length === 0;
  return { rounds, toolCalls: own.filter(({ kind }) => kind === "tool").length, mayStep };
}

/**
 * Answers with an agent: model and tools alternate until the model answers. Each call is stored before it runs. A failure sets
 * `partialAnswer` and `error` instead of throwing, so that persist always runs.
 */
export function makeGenerateAgent({
  turns,
  catalog,
  tools: toolSource,
  skills,
  leaseMs,
  settings,
  makeRoom,
  chooseModels,
  prices,
  ...shared
}: GenerateAgentParts): Node {
  const { steps } = shared;

  return async function generateAgent(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const { callerTools, callResults } = state;
    const isStepping = state.execution === "stepping";
    const resumed = runtime.context?.resumed;
    const agent = state.agent ?? (callerTools || callResults || isStepping || resumed ? ASSISTANT_WITH_TOOLS : null);
    if (state.error || !agent) return { ...answerUpdate(state, "", ""), partialAnswer: true };
    const { tenantId, userId, conversationId, turnId, currentMessageId } = state;
    const held = { tenantId, userId, conversationId, turnId, runner: resumed?.runner ?? null };
    let progress = startProgress(resumed, [], isStepping);
    const began = progress.askedAt;
    const answerId = state.continued?.answerId ?? turnId;
    let firstTokenMs: number | null = null;
    const onToken = (content: string): void => {
      firstTokenMs ??= millisecondsSince(began);
      emit(runtime, { status: "token", content });
    };

    let calls: CallerCall[] = [];
    const last: { prompt: TurnPrompt | null } = { prompt: null }; // until the model is asked
    const { answer, question, error } = await withLease({ turns, leaseMs }, held, runtime.context?.signal, async (signal) => {
      try {
        const before = progress.elapsedMs - began;
        const leftMs = Math.max(1, agent.limits.timeout_s * 1_000 - progress.elapsedMs);
        const reading = await readForAgent({ catalog, tools: toolSource, skills, steps }, { state, agent, leftMs, signal });
        const earlier = reading.steps.filter(({ userMessageId }) => userMessageId === currentMessageId);
        // The caller's choice is for the agent that answers, not for its subagents.
        const choicesOf = (one: Agent) => chooseModels({ model: one === agent ? state.requestedModel : null, agent: one });
        progress = startProgress(resumed, earlier, isStepping);
        const given = resumed || !callResults ? [] : stepsOfResults(agent, callResults.calls, earlier);
        if (given.length > 0) {
          await retryWhileUnreachable(() => steps.begin(held, given), signal);
          progress.steps += given.length;
          reading.steps = await retryWhileUnreachable(() => steps.ofMessages(held, reading.userMessageIds), signal);
        }
        const { interactive, routeDecision, stopsBefore } = state;
        const leg = (resumed?.state.leg ?? 0) + 1;
        const toResume = ({ name }: Agent) => ({ given: givenOf(state, name), routeDecision, leg });
        const modelOptions = state.modelOptions ?? undefined;
        const about = { held, messageId: currentMessageId, runtime, signal, earlier, progress, interactive, stopsBefore, toResume };
        const turn: AgentTurn = { ...shared, ...about, sight: settings.sight, choicesOf };
        const runSubagent: RunSubagent = async (subagent, { prompt, tools }) => {
          const alone = { ...turn, interactive: false };
          return (await runAgent(startAgent(alone, subagent, tools), { prompt, onToken: () => undefined })).answer;
        };
        const own = reading.toolsFor(runSubagent);
        const ofCaller = callerTools && fitCallerTools(callerTools, own, shared.limits.of(firstChoice(choicesOf(agent)).name));
        if (ofCaller?.notice) emit(runtime, { status: "notice", content: ofCaller.notice });
        const tools = callerTools?.mustCall ? (ofCaller?.tools ?? []) : [...own, ...(ofCaller?.tools ?? [])];
        for (const content of reading.notices) emit(runtime, { status: "notice", content });
        const running = startAgent(turn, agent, tools, before + performance.now());
        let end: string | null = null;
        let pictures: readonly Picture[] = resumed?.pictures ?? callResults?.pictures ?? [];
        if (resumed) {
          tellAnswer(runtime, resumed);
          const next = await running.calls.afterAnswer(resumed);
          if (next.question) return { answer: null, question: next.question, error: null };
          end = next.end ?? resumed.state.end ?? null;
          pictures = [...pictures, ...next.pictures];
          reading.steps = await retryWhileUnreachable(() => steps.ofMessages(held, reading.userMessageIds), signal);
        }
        const { name: model } = firstChoice(choicesOf(agent));
        const mustSee = state.pictures.length > 0;
        const assemble = withRoom({ makeRoom, state, runtime, signal }, (now, tokenBudget) => {
          const { prompt, before } = agentPromptOf(now, reading, { tools, settings, tokenBudget, model });
          return { ...prompt, before };
        });
        const prompt = async (tokenBudget: number): Promise<BaseMessage[]> => {
          const assembled = await assemble(tokenBudget, model);
          for (const content of promptNotices(assembled, shared.limits.of(model))) emit(runtime, { status: "notice", content });
          last.prompt = assembled;
          return [...assembled.before, ...picturesOfResults(pictures, { sight: settings.sight, model })];
        };
        const soFar = { ...loopSoFar(agent, reading.steps, resumed), end };
        const task = { prompt, mustSee, soFar, answerId, modelOptions, onToken };
        if (callerTools?.mustCall) {
          const answer = await callAsForced(running, task);
          await retryWhileUnreachable(() => steps.begin(held, [modelStep(turn, agent, answer)]), signal);
          progress.steps++;
          if (answer.error === null) calls = answer.toolCalls;
          return { answer, question: null, error: answer.error };
        }
        const { answer, question } = await runAgent(running, task);
        if (question) return { answer, question, error: null };
        await retryWhileUnreachable(() => steps.begin(held, [modelStep(turn, agent, answer)]), signal); // its text is the message
        progress.steps++;
        return { answer, question, error: answer.error };
      } catch (thrown) {
        return { answer: null, question: null, error: toAppError(signal.aborted ? signal.reason : thrown) };
      }
    });
    if (question) return { question, usage: progress.usage };
    const models = [...progress.models];
    if (error) runtime.context?.onError?.(error);
    tellNearLimit(runtime, progress.usage, state);
    const interaction = error === null ? "answered" : error.code === "turn_cancelled" ? "cancelled" : "failed";
    const note = { name: agent.name, interaction, state: describeState(interaction, progress.called) };
    await steps.noteAgent(held, note).catch((lost: unknown) => runtime.context?.onError?.(toAppError(lost)));
    runtime.note?.({ first_token_ms: firstTokenMs, agent: agent.name, tool_calls: progress.called.length, error: error?.code ?? null });
    return {
      ...answerUpdate(state, answerId, answer?.text ?? ""),
      usage: progress.usage.context_limit === null ? null : progress.usage, // null: the model was not asked
      cost: models.length === 1 && models[0] !== undefined ? costOf(prices(models[0]), progress.usage) : null,
      answeredBy: models.at(-1) ?? null,
      receipt: last.prompt?.receipt ?? null,
      toolCalls: progress.called.length,
      calls,
      steps: progress.steps,
      degraded: (last.prompt ? isBlind(last.prompt) : !state.windowIsWhole) ? ["summary"] : [],
      partialAnswer: error !== null,
      cut: answer?.cut ?? null,
      error: error?.toContent() ?? null,
    };
  };
}
