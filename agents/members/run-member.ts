import { type AgentRun, type AgentTurn, ownSteps, startRun } from "../agent-turn.ts";
import type { BaseMessage } from "@langchain/core/messages";
import { task } from "@langchain/langgraph";
import { toAppError } from "../../errors/app-error.ts";
import { type ChooseModels, firstChoice } from "../../models/model-choice.ts";
import type { PromptSettings } from "../../prompt/turn-prompt.ts";
import type { AgentRunStore } from "../../stores/postgres/agents/agent-run-store.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import { fence } from "../../text/fence.ts";
import { emit, type TurnRuntime } from "../../turn/context.ts";
import type { NodeEvent } from "../../turn/events.ts";
import { type Agent, narrowed } from "../../turn/agent.ts";
import { runStateOf } from "../../turn/resumed-turn.ts";
import type { ConversationState } from "../../turn/state.ts";
import { startAgent } from "../loop/agent-loop.ts";
import { agentPromptOf, type AgentPromptParts, equipAgent, type Equipment } from "../loop/agent-prompt.ts";
import { answerFromSteps, loopSoFar, noteRun } from "../loop/answer-from-steps.ts";
import { callKey } from "../loop/loop-guard.ts";
import type { StepOfMessage } from "../../stores/postgres/agents/step-store.ts";
import { ASK_AGENT } from "../team/strategy.ts";
import type { AgentTool, TaskCall } from "../tool.ts";
import { type RunMember, type Task, teamTools } from "./team-tools.ts";

export interface MemberParts extends AgentPromptParts {
  chooseModels: ChooseModels;
  settings: PromptSettings;
  runs: Pick<AgentRunStore, "lastTasks">;
}

/** The agent that gives tasks. */
export interface Lead {
  turn: AgentTurn;
  agent: Agent;
  run: AgentRun;
}

const SYSTEM_PROMPT = "You do one task for another assistant, which reads your answer.";

/** No member writes memory: the memory agent reads what the user said and the final answer. */
const WRITE_MEMORY = new Set(["core_memory_update", "memory_save"]);

function memberMessage({ task, context }: Task, earlier: readonly { input: string; output: string }[]): string {
  const done = earlier.flatMap(({ input, output }) => [
    { label: "Task:", text: input },
    { label: "Your answer:", text: output },
  ]);
  const parts = [
    ...(done.length > 0 ? [`What you did before in this conversation:\n${fence("earlier_tasks", done)}`] : []),
    ...(context ? [`What others have said:\n${fence("context", [{ text: context }])}`] : []),
    task,
  ];
  return parts.join("\n\n");
}

/** The state as a member sees it: its task is the message, and of memory it has what its lead's prompt has and shares. */
function memberState({ turn: { state }, agent: lead }: Lead, agent: Agent, message: string): ConversationState {
  const { conversationSummary, coreMemory, episodicMemory } = state;
  const { summary = true, core_memory = true } = lead.memory;
  const { share } = lead.team;
  const shared = {
    conversationSummary: share === "none" || !summary ? null : conversationSummary,
    coreMemory: share === "memory" && core_memory ? coreMemory : [],
    episodicMemory: share === "memory" ? episodicMemory : [],
  };
  const nothing = { pictures: [], attachments: [], recentMessages: [], retrievalResults: [], continued: null, callerTools: null };
  return {
    ...state,
    ...nothing,
    ...shared,
    agent,
    message,
    instructions: "",
    kbInstructions: "",
    useRetrieval: false,
    windowIsWhole: true,
  };
}

/** The steps of a member that was cut off with an earlier attempt at the same task of this message: what it did then is not done again. */
function stepsBefore({ earlier, held }: AgentTurn, { name }: Agent, { task, context }: Task): StepOfMessage[] {
  const key = callKey(ASK_AGENT, { agent: name, task, ...(context ? { context } : {}) });
  const given = earlier.findLast((step) => {
    const isTask = step.turnId !== held.turnId && step.kind === "tool" && step.name === ASK_AGENT && step.endedAt === null;
    return isTask && callKey(ASK_AGENT, step.arguments) === key;
  });
  return given ? earlier.filter(({ turnId, task: of, agent }) => turnId === given.turnId && of === given.seq && agent === name) : [];
}

/** Reasoning is told of the agent that answers alone. */
function withoutReasoning(runtime: TurnRuntime): TurnRuntime {
  const onEvent = (event: NodeEvent): void => (event.status === "thought" ? undefined : emit(runtime, event));
  return { ...runtime, context: { ...runtime.context, onEvent } };
}

class MemberWaits extends Error {
  constructor() {
    super("the member waits for an answer");
  }
}

/** Runs work as a task of LangGraph, so that streams and Studio show it by the member's name. A failure stays out of the stream. */
async function asTask(name: string, inNode: TaskCall["inNode"], work: () => Promise<string>): Promise<string> {
  let failed: { thrown: unknown } | null = null;
  const answer = await inNode(() => task({ name }, () => work().catch((thrown: unknown) => void (failed = { thrown })))());
  if (failed) throw (failed as { thrown: unknown }).thrown;
  return answer ?? "";
}

/** Runs the members of an agent, whose members run in the same way. */
function makeRunMember(parts: MemberParts, lead: Lead): RunMember {
  async function runMember(...[member, given, { seq, onWaiting, signal = lead.turn.signal }]: Parameters<RunMember>): Promise<string> {
    const { held, resumed, progress, runtime } = lead.turn;
    const began = performance.now();
    const agent = narrowed(member, lead.agent);
    const state = memberState(lead, agent, given.task);
    const turn: AgentTurn = { ...lead.turn, state, signal, stopsBefore: [], runtime: withoutReasoning(lead.turn.runtime) };
    const before = resumed && runStateOf(resumed.state, seq);
    const leftMs = Math.max(1, agent.limits.timeout_s * 1_000 - (before?.elapsedMs ?? 0));
    const [has, earlier] = await Promise.all([
      equipAgent(parts, { state, agent, leftMs, signal }),
      retryWhileUnreachable(() => parts.runs.lastTasks(held, agent.name, held.turnId, seq), signal),
    ]);
    for (const content of has.notices) emit(runtime, { status: "notice", content });

    const path = [...lead.run.path, agent.name];
    const ofTurn = turn.earlier.filter(({ turnId }) => turnId === held.turnId);
    const run = startRun(agent, { task: seq, path, lead: lead.run, steps: ofTurn, resumed });
    const team = toolsOfTeam(parts, { turn, agent, run }, has);
    const tools: AgentTool[] = [...has.tools.filter(({ name }) => !WRITE_MEMORY.has(name)), ...team];
    const choices = parts.chooseModels({ model: null, agent }); // the caller's choice is for the agent that answers
    const running = startAgent(turn, { agent, run, tools, choices }, began - (before?.elapsedMs ?? 0));
    const seen = { ...state, message: memberMessage(given, earlier) };
    const aboutSkills = [SYSTEM_PROMPT, has.aboutSkills].filter((text) => text !== "").join("\n\n");
    const { name: model } = firstChoice(choices);
    const userMessageIds = [state.currentMessageId];

    const answer = async () =>
      answerFromSteps(running, {
        isSent: false,
        async makeTask(ran, from) {
          const all = ran ? await retryWhileUnreachable(() => turn.steps.ofMessages(held, userMessageIds), signal) : turn.earlier;
          const own = ownSteps({ earlier: all, held }, agent, seq);
          const steps = [...stepsBefore(turn, agent, given), ...own];
          const prompt = async (tokenBudget: number): Promise<BaseMessage[]> =>
            agentPromptOf(seen, { aboutSkills, userMessageIds, steps, tools, settings: parts.settings, tokenBudget, model }).before;
          return { prompt, soFar: loopSoFar(agent, own, from, ran), onToken: () => undefined };
        },
      });

    const {
      answer: said,
      asks,
      error,
    } = await answer()
      .then((outcome) => ({ ...outcome, error: outcome.answer?.error ?? null }))
      .catch((thrown: unknown) => ({ answer: null, asks: null, error: toAppError(signal.aborted ? signal.reason : thrown) }));
    if (asks) {
      onWaiting(asks);
      throw new MemberWaits();
    }
    if (error?.code === "shutting_down") throw error; // another process goes on with it
    progress.runs.delete(seq);
    await noteRun(running, { input: given.task, output: said?.text ?? "", error });
    if (error) throw error;
    return said?.text ?? "";
  }
  return (member, given, call) => asTask(member.name, call.inNode, () => runMember(member, given, call));
}

/** The tools with which an agent at work works with others. */
export function toolsOfTeam(parts: MemberParts, lead: Lead, has: Equipment): AgentTool[] {
  const { path, task } = lead.run;
  return teamTools(lead.agent, has, { path, isLead: task === 0, before: lead.turn.progress.handed, runMember: makeRunMember(parts, lead) });
}
