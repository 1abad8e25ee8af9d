import { type AgentProgress, type AgentTurn, ownSteps, type RunAnswer, startProgress, startRun } from "../agents/agent-turn.ts";
import { toAppError } from "../errors/app-error.ts";
import { GOES_ON_ELSEWHERE } from "../turn/outcome.ts";
import { type ChooseModels, firstChoice } from "../models/model-choice.ts";
import type { HeldTurn } from "../stores/postgres/turns/recover-turn.ts";
import type { StepOfMessage } from "../stores/postgres/agents/step-store.ts";
import type { AgentRunStore } from "../stores/postgres/agents/agent-run-store.ts";
import type { TurnStore } from "../stores/postgres/turns/turn-store.ts";
import type { Agent } from "../turn/agent.ts";
import type { CallerCall } from "../turn/caller-tools.ts";
import { emit, type TurnRuntime, type Node } from "../turn/context.ts";
import { millisecondsSince } from "../turn/events.ts";
import { givenOf, type ResumedTurn } from "../turn/resumed-turn.ts";
import type { Picture } from "../turn/picture.ts";
import type { Question } from "../turn/question.ts";
import type { ConversationState, ConversationUpdate } from "../turn/state.ts";
import { type AgentTask, type RunningAgent, type RunOutcome, startAgent } from "../agents/loop/agent-loop.ts";
import { answerFromSteps, loopSoFar, noteRun, storeSteps } from "../agents/loop/answer-from-steps.ts";
import { agentPromptOf, type AgentPromptParts, equipAgent } from "../agents/loop/agent-prompt.ts";
import { ASSISTANT_WITH_TOOLS, stepsOfResults, withCallerTools } from "../agents/loop/fit-caller-tools.ts";
import { picturesOfResults } from "../agents/loop/fit-loop.ts";
import { callAsForced } from "../agents/loop/forced-calls.ts";
import { questionIds, seenByLead } from "../agents/loop/window-with-steps.ts";
import { toldAgain } from "../agents/loop/told-again.ts";
import { askQuestion, tellAnswer } from "../agents/questions/ask.ts";
import { aboutHandoff, handedTo } from "../agents/team/handoff.ts";
import { toolsOfTeam } from "../agents/members/run-member.ts";
import { isBlind, promptNotices, type PromptSettings, type TurnPrompt } from "../prompt/turn-prompt.ts";
import { answerUpdate, tellNearLimit } from "./answer-update.ts";
import { type MakeRoom, withRoom } from "../prompt/make-room.ts";
import { retryWhileUnreachable, withLease } from "../stores/postgres/turns/turn-lease.ts";

type SharedParts = Pick<
  AgentTurn,
  "steps" | "questions" | "permissions" | "hooks" | "timeouts" | "toolTimeoutMs" | "timeZone" | "observer" | "limits" | "prices"
>;

/** `toolTimeoutMs`: milliseconds for a call. */
export interface GenerateAgentParts extends SharedParts, AgentPromptParts {
  turns: TurnStore;
  runs: Pick<AgentRunStore, "lastTasks">;
  leaseMs: number;
  settings: PromptSettings;
  /** Null: nothing is summarised before an answer. */
  makeRoom: MakeRoom | null;
  chooseModels: ChooseModels;
}

/** The agent of the turn. The assistant is one when there are tools or steps; null: it is not. */
function agentOf({ agent, callerTools, callResults, execution }: ConversationState, resumed: ResumedTurn | undefined): Agent | null {
  return agent ?? (callerTools || callResults || execution === "stepping" || resumed ? ASSISTANT_WITH_TOOLS : null);
}

/** A turn of an agent under way. A handoff replaces `state`, `agent`, `path` and `resumed`. */
interface Answering {
  state: ConversationState;
  runtime: TurnRuntime;
  agent: Agent;
  path: readonly string[];
  held: HeldTurn;
  /** The turn goes on: its question is answered, or its process died. */
  resumed: ResumedTurn | undefined;
  /** How often it has asked. */
  leg: number;
  progress: AgentProgress;
  began: number;
  /** The last one; null until a model is asked. */
  prompt: TurnPrompt | null;
  /** Null until it has read what it has. */
  running: RunningAgent | null;
  onToken: (content: string) => void;
}

/** What came of it. `calls`: of the caller's tools, with which the turn ends. */
interface Answered {
  answer: RunAnswer | null;
  question: Question | null;
  handoff: { to: Agent; told: NonNullable<RunOutcome["handoff"]> } | null;
  calls: CallerCall[];
}

const NO_ANSWER: Answered = { answer: null, question: null, handoff: null, calls: [] };

/**
 * Answers with an agent: model and tools alternate until the model answers, or hands the turn on. Each call is stored before it runs. A
 * failure sets `partialAnswer` and `error` instead of throwing, so that persist always runs.
 */
export function makeGenerateAgent(parts: GenerateAgentParts): Node {
  const { turns, runs, catalog, tools: toolSource, skills, leaseMs, settings, makeRoom, chooseModels, ...shared } = parts;
  const { steps, limits } = shared;
  const { sight } = settings;
  const memberParts = { catalog, tools: toolSource, skills, chooseModels, settings, runs };

  /** What all runs of the turn share. */
  function shareTurn({ state, agent, leg, ...answering }: Answering, earlier: readonly StepOfMessage[], signal: AbortSignal): AgentTurn {
    const { currentMessageId: messageId, interactive, routeDecision, stopsBefore } = state;
    const { runtime, held, progress, resumed } = answering;
    const toResume = () => ({ given: givenOf(state, agent.name), routeDecision, leg });
    const ofTurn = { state, held, messageId, runtime, signal, earlier, resumed, progress, interactive, stopsBefore, toResume };
    return { ...shared, ...ofTurn, leaseMs, sight };
  }

  /** Makes what stands before the loop, with the pictures of results that the caller sent. */
  function makePrompt(
    answering: Answering,
    { turn: { runtime, signal }, tools, choices }: RunningAgent,
    {
      aboutSkills,
      userMessageIds,
      seen,
      pictures,
    }: { aboutSkills: string; userMessageIds: string[]; seen: StepOfMessage[]; pictures: readonly Picture[] },
  ): AgentTask["prompt"] {
    const { state } = answering;
    const { name: model } = firstChoice(choices);
    const assemble = withRoom({ makeRoom, state, runtime, signal }, (now, tokenBudget) =>
      agentPromptOf(now, { aboutSkills, userMessageIds, steps: seen, tools, settings, tokenBudget, model }),
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
    const { state, runtime, agent, path, held, resumed, progress, began, onToken } = answering;
    const { callerTools, callResults, currentMessageId } = state;
    const leftMs = Math.max(1, agent.limits.timeout_s * 1_000 - progress.elapsedMs);
    const userMessageIds = questionIds(state);
    const readSteps = () => retryWhileUnreachable(() => steps.ofMessages(held, userMessageIds), signal);
    const [has, all] = await Promise.all([equipAgent(memberParts, { state, agent, leftMs, signal }), readSteps()]);
    const earlier = all.filter(({ userMessageId }) => userMessageId === currentMessageId);
    const ofTurn = earlier.filter(({ turnId }) => turnId === held.turnId);
    progress.steps = Math.max(progress.steps, ...ofTurn.map(({ seq }) => seq));
    const handed = progress.handed.length > 0 ? aboutHandoff(agent, ofTurn) : "";
    const aboutSkills = [has.aboutSkills, handed].filter((text) => text !== "").join("\n\n");
    const turn = shareTurn(answering, earlier, signal);
    const given = resumed || !callResults ? [] : stepsOfResults(agent, callResults, earlier);
    await storeSteps(turn, given, { isLast: true });

    const choices = chooseModels({ model: state.requestedModel, agent });
    const run = startRun(agent, { task: 0, path, lead: null, steps: ofTurn, resumed });
    const own = [
      ...has.tools,
      ...(has.members.length + has.handoffs.length > 0 ? toolsOfTeam(memberParts, { turn, agent, run }, has) : []),
    ];
    const limit = limits.of(firstChoice(choices).name);
    const { tools, notice } = callerTools ? withCallerTools(own, callerTools, limit) : { tools: own, notice: null };
    for (const content of [...(notice ? [notice] : []), ...has.notices]) emit(runtime, { status: "notice", content });
    const running = startAgent(turn, { agent, run, tools, choices }, began - progress.elapsedMs);
    answering.running = running;
    if (resumed?.answered) tellAnswer(runtime, resumed.answered);
    else if (resumed) for (const event of toldAgain(ofTurn)) emit(runtime, event);

    const { answer, asks, handoff } = await answerFromSteps(running, {
      isSent: true,
      keepsAnswer: !callerTools?.mustCall,
      ...(callerTools?.mustCall ? { ask: callAsForced } : {}),
      async makeTask(ran, from) {
        const now = ran || given.length > 0 ? await readSteps() : all;
        const pictures = [...(resumed?.pictures ?? callResults?.pictures ?? []), ...(ran?.pictures ?? [])];
        return {
          prompt: makePrompt(answering, running, { aboutSkills, userMessageIds, seen: seenByLead(now), pictures }),
          mustSee: state.pictures.length > 0,
          soFar: loopSoFar(agent, ownSteps({ earlier: now, held }, agent, 0), from, ran),
          answerId: state.continued?.answerId ?? state.turnId,
          modelOptions: state.modelOptions ?? undefined,
          onToken,
        };
      },
    });
    if (asks) return { ...NO_ANSWER, question: await askQuestion(turn, asks) };
    if (handoff) return { ...NO_ANSWER, handoff: { to: handedTo(has.handoffs, handoff.handoff), told: handoff } };
    return { ...NO_ANSWER, answer, calls: callerTools?.mustCall && answer?.error === null ? answer.toolCalls : [] };
  }

  /** Answers with the agent, and with those to which the turn is handed on, one after the other. Changes `answering`. */
  async function answerInTurn(answering: Answering, signal: AbortSignal): Promise<Answered> {
    for (;;) {
      const answered = await answerAsAgent(answering, signal);
      const { handoff } = answered;
      if (!handoff) return answered;
      const { to, told } = handoff;
      if (told.isNew) emit(answering.runtime, { status: "handoff", content: told.handoff });
      if (told.isNew && answering.running)
        await noteRun(answering.running, { input: answering.state.message, output: told.handoff.reason, error: null, isHanded: true });
      answering.progress.handed.push(answering.agent.name);
      answering.progress.runs.clear();
      const state = { ...answering.state, agent: to, agentPath: [], handedTo: to.name };
      Object.assign(answering, { state, agent: to, path: [to.name], resumed: undefined, running: null });
    }
  }

  return async function generateAgent(given: ConversationState, runtime: TurnRuntime): Promise<ConversationUpdate> {
    const resumed = runtime.context?.resumed;
    const agent = agentOf(given, resumed);
    const { tenantId, userId, conversationId, turnId } = given;
    const held = { tenantId, userId, conversationId, turnId, runner: resumed?.runner ?? null };
    const letGo = async (): Promise<boolean> => shared.questions.letGo(held).catch(() => false);
    const goesOnElsewhere = { isLetGo: true, error: GOES_ON_ELSEWHERE, partialAnswer: true };
    if (resumed && given.error?.code === "shutting_down" && (await letGo())) return goesOnElsewhere;
    if (given.error || !agent) return { ...answerUpdate(given, "", ""), partialAnswer: true };
    const progress = startProgress(resumed, given.execution === "stepping");
    const began = performance.now();
    let firstTokenMs: number | null = null;
    const onToken = (content: string): void => {
      firstTokenMs ??= millisecondsSince(began);
      emit(runtime, { status: "token", content });
    };
    const path = given.agentPath.length > 0 ? given.agentPath : [agent.name];
    const leg = (resumed?.state.leg ?? 0) + 1;
    const about = { state: given, runtime, agent, path, held, resumed, leg, progress, began, onToken };
    const answering: Answering = { ...about, prompt: null, running: null };
    const { answer, question, calls, error } = await withLease({ turns, leaseMs }, held, runtime.context?.signal, async (signal) => {
      try {
        const answered = await answerInTurn(answering, signal);
        return { ...answered, error: answered.answer?.error ?? null };
      } catch (thrown) {
        return { ...NO_ANSWER, error: toAppError(signal.aborted ? signal.reason : thrown) };
      }
    });
    const { state, running } = answering;
    if (question) return { question, usage: progress.usage };
    if (error?.code === "shutting_down" && (await letGo())) return { ...goesOnElsewhere, usage: progress.usage };
    if (error) runtime.context?.onError?.(error);
    tellNearLimit(runtime, progress.usage, state);
    if (running) await noteRun(running, { input: state.message, output: answer?.text ?? "", error });
    const called = progress.called.length;
    runtime.note?.({ first_token_ms: firstTokenMs, agent: answering.agent.name, tool_calls: called, error: error?.code ?? null });
    return {
      ...answerUpdate(state, state.continued?.answerId ?? turnId, answer?.text ?? ""),
      ...(state.agent === given.agent ? {} : { agent: state.agent, handedTo: state.handedTo }),
      usage: progress.usage.context_limit === null ? null : progress.usage, // null: the model was not asked
      cost: progress.models.size === 0 ? null : progress.spent.cost,
      answeredBy: [...progress.models].at(-1) ?? null,
      receipt: answering.prompt?.receipt ?? null,
      toolCalls: called,
      calls,
      steps: progress.steps,
      degraded: (answering.prompt ? isBlind(answering.prompt) : !state.windowIsWhole) ? ["summary"] : [],
      partialAnswer: error !== null,
      cut: answer?.cut ?? null,
      error: error?.toContent() ?? null,
    };
  };
}
