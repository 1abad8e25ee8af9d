import { type AgentRun, type AgentTurn, beginSteps, ownSteps } from "../agent-turn.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { bulkhead } from "cockatiel";
import type { BaseMessage } from "@langchain/core/messages";
import { permissionFor, makeJudge, makeReadRules, unread } from "../questions/permissions.ts";
import { answerByRule, askingOf, inOrder, toAskAbout, type WaitingCall } from "../questions/ask.ts";
import { answerForms, callAgain } from "../questions/elicitation.ts";
import { type Ready, refused, rulingOf, STOPPED } from "../questions/questions.ts";
import { type AnswerSays, type ResumedRun, resumeCalls } from "../questions/resume.ts";
import { runToolCall, type ToolOutcome } from "../run-tool-call.ts";
import type { AgentTool, ToAsk, ToolTurn } from "../tool.ts";
import type { AppError } from "../../errors/app-error.ts";
import { turnTakenOver } from "../../turn/outcome.ts";
import type { NewStep } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { shownArguments } from "../../text/tool-arguments.ts";
import type { Agent } from "../../turn/agent.ts";
import { emit } from "../../turn/context.ts";
import type { Handoff } from "../../turn/events.ts";
import type { Picture } from "../../turn/picture.ts";
import { type PendingCall, type RunState, runStateOf } from "../../turn/resumed-turn.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import { HANDOFF, handoffOf } from "../team/handoff.ts";
import { callKey, callsBefore, failuresBefore, interruptedCalls, makeLoopGuard } from "./loop-guard.ts";
import { shownOutput } from "./told-again.ts";
import { toolMessage } from "./window-with-steps.ts";

export interface CalledTools {
  /** As they run: a rule may have corrected their arguments. */
  calls: readonly PendingCall[];
  /** A message for each call with a result, in order. */
  results: BaseMessage[];
  /** What they say, in order. */
  outputs: string[];
  pictures: readonly Picture[];
  /** What the turn waits for: a call of this run, or a member at work. */
  asks: ToAsk | null;
  end: string | null;
  /** A call handed the turn on to another agent. */
  handoff: Handoff | null;
}

/**
 * `again`: the call failed because its server asks something. It is repeated once somebody has answered. `asks`: the member that does its
 * task asks something; the call goes on once somebody has answered.
 */
interface RanCall {
  ended: { message: BaseMessage; output: string; handoff: Handoff | null } | null;
  pictures: readonly Picture[];
  failsAgain: boolean;
  again: ReturnType<typeof callAgain> | null;
  asks: ToAsk | null;
}

export type RunCalls = ReturnType<typeof makeRunCalls>;

interface Runs {
  agent: Agent;
  run: AgentRun;
  tools: readonly AgentTool[];
}

export function makeRunCalls(turn: AgentTurn, { agent, run: ofAgent, tools }: Runs, elapsedMs: () => number) {
  const { held, runtime, signal, steps, progress } = turn;
  const [{ limits }, { path, task }] = [agent, ofAgent];
  const tasksAtOnce = bulkhead(limits.parallel_tools, Infinity);
  const unsure = interruptedCalls(turn.earlier);
  const earlier = ownSteps(turn, agent, task);
  let { loopsFrom } = (turn.resumed && runStateOf(turn.resumed.state, task)) ?? {};
  const guard = makeLoopGuard(callsBefore(earlier, loopsFrom ?? 0), failuresBefore(earlier));
  let round = earlier.filter(({ kind }) => kind === "model").length;
  let answers = round;
  const judge = makeJudge(turn, { agent, path }, tools);
  const readRules = makeReadRules(turn, { agent, run: ofAgent, tools });
  /** An older version wrote the steps of subagents without their task: such a task cannot go on. */
  const hasStepsWithoutTask = turn.earlier.some(
    (step) => task === 0 && step.turnId === held.turnId && step.task === 0 && ![agent.name, ...progress.handed].includes(step.agent),
  );
  const goesOn = (name: string): boolean => tools.some((tool) => tool.name === name && tool.members !== undefined) && !hasStepsWithoutTask;

  /** Notes where the run stands, for whoever goes on with the turn. */
  function note(at: Pick<RunState, "pending" | "about" | "end">): void {
    progress.runs.set(task, () => ({
      ...at,
      ...{ elapsedMs: elapsedMs(), spent: ofAgent.spent },
      ...(loopsFrom === undefined ? {} : { loopsFrom }),
    }));
  }

  const { turnId, conversationId, tenantId, userId } = held;
  const toolTurn: ToolTurn = {
    ...{ tenantId, userId, turnId, conversationId, messageId: turn.messageId, agent: agent.name },
    showPlan: (items) => (task === 0 ? emit(runtime, { status: "plan", content: { items } }) : undefined), // a turn shows one plan
  };

  async function runCall(call: PendingCall, verdict: Ready): Promise<RanCall> {
    const { elicit, unanswered } = answerForms(call.forms ?? []);
    let asks: ToAsk | null = null;
    const task = { seq: call.seq, onWaiting: (asked: ToAsk) => void (asks = asked), inNode: AsyncLocalStorage.snapshot() };
    const { timeoutMs: own = turn.toolTimeoutMs } = tools.find(({ name }) => name === call.name) ?? {};
    const timeoutMs = Math.max(1, Math.min(own, limits.timeout_s * 1_000 - elapsedMs()));
    const outcome = async (): Promise<ToolOutcome> => {
      if ("outcome" in verdict) return verdict.outcome;
      // A rule may have come since somebody allowed it.
      const permission = (tool: AgentTool) => (permissionFor(agent.permissions, tool) === "deny" ? "deny" : verdict.run);
      const elicits = turn.interactive ? elicit : undefined;
      const onBroken = (error: AppError): void => turn.observer.tell({ happened: "tool_broke", tool: call.name, error });
      const parts = {
        tools,
        permissionOf: permission,
        turn: toolTurn,
        hooks: turn.hooks,
        timeoutMs,
        signal,
        elicit: elicits,
        task,
        onBroken,
      };
      return runToolCall(call, parts);
    };
    const { ok, output, isCut, ms, pictures = [] } = await outcome();
    if (asks !== null) return { ended: null, pictures: [], failsAgain: false, again: null, asks };
    const ended = { seq: call.seq, output, ok, tokens: estimateTokens(output) };
    if (!(await retryWhileUnreachable(() => steps.end(held, ended), signal))) throw turnTakenOver();
    const shown = shownOutput(output);
    const cut = isCut || shown.length < output.length;
    const of = { call_id: call.id, agent: agent.name, path: [...path], name: call.name };
    emit(runtime, { status: "tool_result", content: { ...of, ok, output: shown, cut, ms } });
    const form = ok ? null : unanswered();
    return {
      ended: {
        message: toolMessage(call.id, call.name, output),
        output,
        handoff: ok && call.name === HANDOFF ? handoffOf(agent.name, call) : null,
      },
      pictures,
      failsAgain: !ok && guard.noteFailure({ name: call.name, output, round }),
      again: form && callAgain(call, form, ++progress.steps),
      asks: null,
    };
  }

  function tellCalls(calls: readonly PendingCall[]): void {
    for (const call of calls) {
      const content = { call_id: call.id, agent: agent.name, path: [...path], name: call.name, arguments: shownArguments(call) };
      emit(runtime, { status: "tool_call", content });
    }
  }

  function tellFailure(name: string): string {
    const problem = `"${name}" has failed three times in the same way`;
    const message = `${problem}. The agent "${agent.name}" answers from what there is.`;
    emit(runtime, { status: "notice", content: { code: "agent_limit", message } });
    return problem;
  }

  /** Stores the calls that run now, after the step of the answer that asked for them, and runs them; then asks about the others. */
  async function run(
    calls: readonly PendingCall[],
    { known, passed, end = null }: AnswerSays,
    thought: NewStep | null = null,
  ): Promise<CalledTools> {
    const judged = await Promise.all(
      calls.map(async (asked, index) => {
        const ready = known.get(asked.seq);
        const settled = index === 0 ? passed : undefined;
        const { call, rejected, told } = ready ? unread(asked) : readRules(asked, { passed: settled, steps: answers });
        const key = callKey(call.name, shownArguments(call));
        const mayHaveRun = unsure.has(key) && !goesOn(call.name);
        const about = { count: guard.noteCall({ key, at: Date.now() }), mayHaveRun, passed: settled, rejected };
        return { call, told, verdict: ready ?? (await judge(call, about)) };
      }),
    );
    const now = judged.flatMap(({ call, verdict }) => ("ask" in verdict ? [] : [{ call, verdict }]));
    const waiting = judged.flatMap(({ call, verdict }): WaitingCall[] => ("ask" in verdict ? [{ call, ask: verdict.ask }] : []));
    const begun = now.map(({ call, verdict }): NewStep => {
      const about = { seq: call.seq, agent: agent.name, path, task, kind: "tool" as const, name: call.name, callId: call.id };
      return { ...about, arguments: shownArguments(call), ruling: rulingOf(verdict, call) };
    });
    const isStored = ({ seq }: NewStep): boolean => earlier.some((step) => step.seq === seq && step.endedAt === null);
    const toStore = begun.filter((step) => !(goesOn(step.name) && isStored(step))); // its member stores the next step
    const pending = waiting.map(({ call }) => call);
    await beginSteps(turn, thought ? [thought, ...toStore] : toStore, { note: () => note({ pending, end }) });
    const again = now.flatMap(({ call }) => (call.forms ? [call] : [])); // the model has not made these
    progress.called.push(...again.map(({ name }) => name));
    const changed = judged.filter(({ call, told }) => call.forms || told?.content.action === "correct");
    tellCalls((thought ? judged : changed).map(({ call }) => call));
    for (const { told } of judged) if (told) emit(runtime, told);
    const ready = now.map(({ call, verdict }) => ({
      call,
      ...("unasked" in verdict ? answerByRule(runtime, { agent, run: ofAgent }, call, verdict.unasked) : { ready: verdict, end: null }),
    }));
    const ran = await Promise.all(
      ready.map(({ call, ready }) => {
        const isTask = goesOn(call.name); // its member's calls wait for their own places
        return isTask ? tasksAtOnce.execute(() => runCall(call, ready)) : ofAgent.atOnce(() => runCall(call, ready));
      }),
    );
    const done = ran.flatMap(({ ended }) => ended ?? []);
    const [results, outputs] = [done.map(({ message }) => message), done.map(({ output }) => output)];
    const [handoff = null] = done.flatMap((one) => one.handoff ?? []);
    const pictures = ran.flatMap((one) => one.pictures);
    const failing = ready.find((_, index) => ran[index]?.failsAgain)?.call;
    const stop = end ?? ready.find((one) => one.end !== null)?.end ?? (failing ? tellFailure(failing.name) : null);
    const asking = stop === null ? [...waiting, ...ran.flatMap(({ again }) => again ?? [])] : waiting;
    const [ofMember = null] = ran.flatMap(({ asks }) => asks ?? []);
    const called = { calls: judged.map(({ call }) => call), results, outputs, pictures, handoff };
    if (asking.length === 0) {
      note({ pending: [], end: stop });
      return { ...called, asks: ofMember, end: stop };
    }
    if (stop === null) {
      const ordered = inOrder(asking);
      const own = askingOf(agent, ordered);
      note({ pending: ordered.map(({ call }) => call), ...(own.about ? { about: own.about } : {}) });
      return { ...called, asks: toAskAbout(agent, ofAgent, own), end: null };
    }
    const rest = await run(pending, { known: new Map(pending.map(({ seq }) => [seq, STOPPED])), end: stop });
    return {
      ...{ ...rest, ...called, asks: ofMember },
      results: [...results, ...rest.results],
      outputs: [...outputs, ...rest.outputs],
    };
  }

  return {
    note,
    /** Runs the calls of an answer; those over `free` are not run. */
    ofAnswer(calls: readonly PendingCall[], thought: NewStep, free: number): Promise<CalledTools> {
      const message = `A turn may call ${limits.max_tool_calls} tools. This call was not run.`;
      const tooMany = refused("too_many_tool_calls", message, "Answer now.");
      round++;
      if (thought.kind === "model") answers++;
      return run(calls, { known: new Map(calls.slice(Math.max(0, free)).map(({ seq }) => [seq, tooMany])) }, thought);
    },
    async goOn(resumed: ResumedRun): Promise<CalledTools> {
      const mayRunAgain = (name: string): boolean =>
        turn.interactive || tools.some((tool) => tool.name === name && (tool.onlyReads || tool.members !== undefined));
      const hasBegun = (seq: number): boolean => turn.earlier.some((step) => step.turnId === held.turnId && step.task === seq);
      const { calls, loopsFrom: from, ...says } = resumeCalls(resumed, earlier, { mayRunAgain, goesOn, hasBegun });
      if (says.runs) progress.isStepping = false;
      if (from !== undefined) {
        guard.startAnew();
        loopsFrom = from;
      }
      return run(calls, says);
    },
  };
}
