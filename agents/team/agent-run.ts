import { bulkhead } from "cockatiel";
import type { Step } from "../../stores/postgres/agents/step-store.ts";
import type { Agent, AgentLimits } from "../../turn/agent.ts";
import { NOTHING_SPENT, type ResumedTurn, runStateOf, type Spent } from "../../turn/resumed-turn.ts";

/** The calls that a run may still make: its members' count too. */
export interface CallBudget {
  left(): number;
  take(calls: number): void;
  /** The limit that is reached, or null. */
  reached(): number | null;
}

/** Runs calls side by side, as many as the run and all runs above it may have at a time. */
export type AtOnce = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** The run of an agent in a turn: it answers, or does the task of another one. */
export interface AgentRun {
  /** The step that gave the task; 0: it answers the turn. */
  task: number;
  /** The agents from the one that answers to this one. */
  path: readonly string[];
  budget: CallBudget;
  atOnce: AtOnce;
  /** What its own models took. */
  spent: Spent;
  /** Its own calls, not run ones too. */
  toolCalls: number;
}

function makeBudget(limit: number, used: number, above: CallBudget | null): CallBudget {
  let made = used;
  return {
    left: () => Math.min(limit - made, above?.left() ?? Infinity),
    take(calls) {
      made += calls;
      above?.take(calls);
    },
    reached: () => (made >= limit ? limit : (above?.reached() ?? null)),
  };
}

function makeAtOnce(most: number, above: AtOnce | null): AtOnce {
  const own = bulkhead(most, Infinity);
  return (work) => own.execute(() => (above ? above(work) : work()));
}

interface CallMade {
  seq: number;
  task: number;
  agent?: string;
}

/** The calls that runs of the turn have asked for: those that began, and those that wait. */
function callsMade(steps: readonly Step[], resumed: ResumedTurn | undefined): CallMade[] {
  const begun: CallMade[] = steps.filter(({ kind }) => kind === "tool");
  const runs = resumed ? [0, ...Object.keys(resumed.state.members ?? {}).map(Number)] : [];
  const waiting = runs.flatMap((task) => (resumed && runStateOf(resumed.state, task)?.pending)?.map(({ seq }) => ({ seq, task })) ?? []);
  return [...begun, ...waiting.filter(({ seq }) => !begun.some((step) => step.seq === seq))];
}

/** The calls below a run: its own, and those of its members. */
function callsBelow(calls: readonly CallMade[], task: number): CallMade[] {
  const taskOf = new Map(calls.map((call) => [call.seq, call.task]));
  const isBelow = (at: number): boolean => at === task || (at > 0 && isBelow(taskOf.get(at) ?? 0));
  return calls.filter((call) => isBelow(call.task));
}

interface StartedRun {
  task: number;
  path: readonly string[];
  /** The run that gave the task. */
  lead: AgentRun | null;
  /** Those of the turn. */
  steps: readonly Step[];
  resumed: ResumedTurn | undefined;
}

/** A run with what it has used of its limits. */
export function startRun({ limits }: Pick<Agent, "limits">, { task, path, lead, steps, resumed }: StartedRun): AgentRun {
  const calls = callsBelow(callsMade(steps, resumed), task);
  const name = path.at(-1);
  return {
    ...{ task, path },
    budget: makeBudget(limits.max_tool_calls, calls.length, lead?.budget ?? null),
    atOnce: makeAtOnce(limits.parallel_tools, lead?.atOnce ?? null),
    spent: (resumed && runStateOf(resumed.state, task)?.spent) ?? NOTHING_SPENT,
    toolCalls: calls.filter(({ task: of, agent = name }) => of === task && agent === name).length,
  };
}

/** A member with its own limits, where those of its lead are not narrower. */
export function narrowed(member: Agent, lead: Pick<Agent, "limits">): Agent {
  const narrower = (limit: keyof AgentLimits): number => Math.min(member.limits[limit], lead.limits[limit]);
  const [max_steps, max_tool_calls] = [narrower("max_steps"), narrower("max_tool_calls")];
  const [timeout_s, parallel_tools] = [narrower("timeout_s"), narrower("parallel_tools")];
  const max_depth = Math.min(member.limits.max_depth, lead.limits.max_depth - 1);
  return { ...member, limits: { max_steps, max_tool_calls, timeout_s, parallel_tools, max_depth } };
}
