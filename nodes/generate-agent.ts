import { AppError, toAppError } from "../errors/app-error.ts";
import { type ChooseModels, firstChoice } from "../models/model-choice.ts";
import type { ModelPrices } from "../models/facts/model-facts.ts";
import { costOf } from "../models/facts/prompt-budget.ts";
import type { ModelAnswer } from "../models/stream-answer.ts";
import type { GoesOn, NewStep, StepOfMessage } from "../stores/postgres/agents/step-store.ts";
import type { HeldTurn } from "../stores/postgres/turns/recover-turn.ts";
import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import type { Agent } from "../turn/agent.ts";
import type { CallerCall } from "../turn/caller-tools.ts";
import { emit, type TurnRuntime, type Node } from "../turn/context.ts";
import { millisecondsSince } from "../turn/events.ts";
import { givenOf, type ResumedTurn } from "../turn/resumed-turn.ts";
import type { Picture } from "../turn/picture.ts";
import type { Question } from "../turn/question.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import { type AgentTask, type LoopSoFar, modelStep, runAgent, type RunningAgent, startAgent } from "../agents/loop/agent-loop.ts";
import { type AgentProgress, type AgentTurn, resumeFrom, startProgress } from "../agents/agent-turn.ts";
import type { AgentTool } from "../agents/tool.ts";
import { agentPromptOf, type AgentPromptParts, type AgentReading, readForAgent, type RunSubagent } from "../agents/loop/agent-prompt.ts";
import { ASSISTANT_WITH_TOOLS, fitCallerTools, stepsOfResults } from "../agents/loop/fit-caller-tools.ts";
import { picturesOfResults } from "../agents/loop/fit-loop.ts";
import { callAsForced } from "../agents/loop/forced-calls.ts";
import { toldAgain } from "../agents/loop/told-again.ts";
import { tellAnswer } from "../agents/questions/ask.ts";
import { finishedAnswer } from "../agents/questions/resume.ts";
import { isBlind, promptNotices, type PromptSettings, type TurnPrompt } from "../prompt/turn-prompt.ts";
import { answerUpdate, tellNearLimit } from "./answer-update.ts";
import { type MakeRoom, withRoom } from "../prompt/make-room.ts";
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
function loopSoFar({ name }: Agent, steps: readonly StepOfMessage[], resumed: ResumedTurn | undefined): Omit<LoopSoFar, "end"> {
  const own = steps.filter(({ turnId, agent }) => resumed?.turnId === turnId && agent === name);
  const rounds = own.filter(({ kind }) => kind === "model").length;
  const mayStep = resumed?.state.about === "step" && resumed.state.pending.length === 0;
  return { rounds, toolCalls: own.filter(({ kind }) => kind === "tool").length, mayStep };
}

/** The agent of the turn. The assistant is one when there are tools or steps; null: it is not. */
function agentOf({ agent, callerTools, callResults, execution }: ConversationState, resumed: ResumedTurn | undefined): Agent | null {
  return agent ?? (callerTools || callResults || execution === "stepping" || resumed ? ASSISTANT_WITH_TOOLS : null);
}

/** Stores steps that are over, and what the turn needs to go on behind them. */
async function storeSteps({ steps, held, progress, signal }: AgentTurn, done: readonly NewStep[], goesOn?: GoesOn): Promise<void> {
  if (done.length === 0) return;
  const isHeld = await retryWhileUnreachable(() => steps.begin(held, done, goesOn), signal);
  if (!isHeld) throw new AppError("turn_superseded", "Another turn took over the conversation, or another process this turn.");
  progress.steps += done.length;
}

/** A turn of an agent under way. */
interface Answering {
  state: ConversationState;
  runtime: TurnRuntime;
  agent: Agent;
  held: HeldTurn;
  /** The turn goes on: its question is answered, or its process died. */
  resumed: ResumedTurn | undefined;
  progress: AgentProgress;
  began: number;
  /** The last one; null until a model is asked. */
  prompt: TurnPrompt | null;
  onToken: (content: string) => void;
}

/** What came of it. `calls`: of the caller's tools, with which the turn ends. */
interface Answered {
  answer: ModelAnswer | null;
  question: Question | null;
  calls: CallerCall[];
}

const NO_ANSWER: Answered = { answer: null, question: null, calls: [] };

/**
 * Answers with an agent: model and tools alternate until the model answers. Each call is stored before it runs. A failure sets
 * `partialAnswer` and `error` instead of throwing, so that persist always runs.
 */
export function makeGenerateAgent(parts: GenerateAgentParts): Node {
  const { turns, catalog, tools: toolSource, skills, leaseMs, settings, makeRoom, chooseModels, prices, ...shared } = parts;
  const { steps, limits } = shared;
  const { sight } = settings;

  /** What all agents of the turn share. */
  function shareTurn({ state, resumed, ...answering }: Answering, earlier: readonly StepOfMessage[], signal: AbortSignal): AgentTurn {
    const { currentMessageId: messageId, interactive, routeDecision, stopsBefore } = state;
    const { runtime, held, progress } = answering;
    const leg = (resumed?.state.leg ?? 0) + 1;
    const toResume = ({ name }: Agent) => ({ given: givenOf(state, name), routeDecision, leg });
    return { ...shared, leaseMs, sight, held, messageId, runtime, signal, earlier, progress, interactive, stopsBefore, toResume };
  }

  /** The tools of the agent and of the caller. Notices tell which are missing. */
  function offerTools({ state: { callerTools }, runtime }: Answering, turn: AgentTurn, reading: AgentReading, model: string): AgentTool[] {
    const runSubagent: RunSubagent = async (agent, { prompt, tools }) => {
      const choices = chooseModels({ model: null, agent }); // the caller's choice is for the agent that answers
      const running = startAgent({ ...turn, interactive: false, toResume: null }, { agent, tools, choices });
      return (await runAgent(running, { prompt, onToken: () => undefined })).answer;
    };
    const own = reading.toolsFor(runSubagent);
    const ofCaller = callerTools && fitCallerTools(callerTools, own, limits.of(model));
    if (ofCaller?.notice) emit(runtime, { status: "notice", content: ofCaller.notice });
    for (const content of reading.notices) emit(runtime, { status: "notice", content });
    return callerTools?.mustCall ? (ofCaller?.tools ?? []) : [...own, ...(ofCaller?.tools ?? [])];
  }

  /** Makes what stands before the loop, with the pictures of results that the caller sent. */
  function makePrompt(
    answering: Answering,
    reading: AgentReading,
    { turn: { runtime, signal }, tools, choices }: RunningAgent,
    pictures: readonly Picture[],
  ): AgentTask["prompt"] {
    const { state } = answering;
    const { name: model } = firstChoice(choices);
    const assemble = withRoom({ makeRoom, state, runtime, signal }, (now, tokenBudget) =>
      agentPromptOf(now, reading, { tools, settings, tokenBudget, model }),
    );
    return async (tokenBudget) => {
      const prompt = await assemble(tokenBudget, model);
      for (const content of promptNotices(prompt, limits.of(model))) emit(runtime, { status: "notice", content });
      answering.prompt = prompt;
      return [...prompt.before, ...picturesOfResults(pictures, { sight, model })];
    };
  }

  /** Reads what the agent has, does what an answer to its question says, and asks its model. Throws AppError, or the reason of `signal`. */
  async function answerAsAgent(answering: Answering, signal: AbortSignal): Promise<Answered> {
    const { state, runtime, agent, held, resumed, progress, began, onToken } = answering;
    const { callerTools, callResults } = state;
    const leftMs = Math.max(1, agent.limits.timeout_s * 1_000 - progress.elapsedMs);
    const reading = await readForAgent({ catalog, tools: toolSource, skills, steps }, { state, agent, leftMs, signal });
    const earlier = reading.steps.filter(({ userMessageId }) => userMessageId === state.currentMessageId);
    progress.steps = Math.max(progress.steps, ...earlier.flatMap(({ turnId, seq }) => (turnId === resumed?.turnId ? [seq] : [])));
    const turn = shareTurn(answering, earlier, signal);
    const given = resumed || !callResults ? [] : stepsOfResults(agent, callResults, earlier);
    await storeSteps(turn, given);

    const choices = chooseModels({ model: state.requestedModel, agent });
    const tools = offerTools(answering, turn, reading, firstChoice(choices).name);
    const running = startAgent(turn, { agent, tools, choices }, began - progress.elapsedMs);
    if (resumed?.answered) tellAnswer(turn.runtime, resumed.answered);
    else if (resumed) for (const event of toldAgain(earlier)) emit(runtime, event);
    const finished = resumed?.answered === null ? finishedAnswer(earlier) : null;
    const ran = resumed && !finished ? await running.calls.goOn(resumed) : null;
    if (ran?.question) return { ...NO_ANSWER, question: ran.question };
    if (ran || given.length > 0) reading.steps = await retryWhileUnreachable(() => steps.ofMessages(held, reading.userMessageIds), signal);

    const pictures = [...(resumed?.pictures ?? callResults?.pictures ?? []), ...(ran?.pictures ?? [])];
    const task: AgentTask = {
      prompt: makePrompt(answering, reading, running, pictures),
      mustSee: state.pictures.length > 0,
      soFar: { ...loopSoFar(agent, reading.steps, resumed), end: ran?.end ?? resumed?.state.end ?? null },
      answerId: state.continued?.answerId ?? state.turnId,
      modelOptions: state.modelOptions ?? undefined,
      onToken,
    };
    if (finished) {
      await task.prompt(limits.of(firstChoice(choices).name)); // for its receipt
      onToken(finished.text);
      return { answer: finished, question: null, calls: [] };
    }
    const { answer, question } = callerTools?.mustCall
      ? { answer: await callAsForced(running, task), question: null }
      : await runAgent(running, task);
    if (question) return { ...NO_ANSWER, question };
    const at = answer.error || callerTools?.mustCall ? null : resumeFrom(turn, agent, { pending: [], elapsedMs: running.elapsedMs() });
    if (at) {
      const goesOn = { leaseMs, state: { ...at, characters: at.characters - answer.text.length } };
      await storeSteps(turn, [modelStep(turn, agent, answer, answer.text)], goesOn);
    } else await storeSteps(turn, [modelStep(turn, agent, answer)]);
    return { answer, question: null, calls: callerTools?.mustCall && answer.error === null ? answer.toolCalls : [] };
  }

  return async function generateAgent(state: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const resumed = runtime.context?.resumed;
    const agent = agentOf(state, resumed);
    if (state.error || !agent) return { ...answerUpdate(state, "", ""), partialAnswer: true };
    const { tenantId, userId, conversationId, turnId } = state;
    const held = { tenantId, userId, conversationId, turnId, runner: resumed?.runner ?? null };
    const progress = startProgress(resumed, state.execution === "stepping");
    const began = performance.now();
    let firstTokenMs: number | null = null;
    const onToken = (content: string): void => {
      firstTokenMs ??= millisecondsSince(began);
      emit(runtime, { status: "token", content });
    };
    const answering: Answering = { state, runtime, agent, held, resumed, progress, began, prompt: null, onToken };
    const { answer, question, calls, error } = await withLease({ turns, leaseMs }, held, runtime.context?.signal, async (signal) => {
      try {
        const answered = await answerAsAgent(answering, signal);
        return { ...answered, error: answered.answer?.error ?? null };
      } catch (thrown) {
        return { ...NO_ANSWER, error: toAppError(signal.aborted ? signal.reason : thrown) };
      }
    });
    if (question) return { question, usage: progress.usage };
    if (error) runtime.context?.onError?.(error);
    tellNearLimit(runtime, progress.usage, state);
    const interaction = error === null ? "answered" : error.code === "turn_cancelled" ? "cancelled" : "failed";
    const models = [...progress.models];
    const cost = models.length === 1 && models[0] !== undefined ? costOf(prices(models[0]), progress.usage) : null;
    const run = {
      ...{ task: 0, path: [agent.name], ok: error === null, toolCalls: progress.called.length, tokens: progress.usage.total_tokens, cost },
      ms: millisecondsSince(began) + progress.elapsedMs,
    };
    const note = { name: agent.name, interaction, state: describeState(interaction, progress.called), run };
    await steps.noteAgent(held, note).catch((lost: unknown) => runtime.context?.onError?.(toAppError(lost)));
    runtime.note?.({ first_token_ms: firstTokenMs, agent: agent.name, tool_calls: progress.called.length, error: error?.code ?? null });
    return {
      ...answerUpdate(state, state.continued?.answerId ?? turnId, answer?.text ?? ""),
      usage: progress.usage.context_limit === null ? null : progress.usage, // null: the model was not asked
      cost,
      answeredBy: models.at(-1) ?? null,
      receipt: answering.prompt?.receipt ?? null,
      toolCalls: progress.called.length,
      calls,
      steps: progress.steps,
      degraded: (answering.prompt ? isBlind(answering.prompt) : !state.windowIsWhole) ? ["summary"] : [],
      partialAnswer: error !== null,
      cut: answer?.cut ?? null,
      error: error?.toContent() ?? null,
    };
  };
}
