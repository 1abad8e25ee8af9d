import { bulkhead } from "cockatiel";
import type { BaseMessage } from "@langchain/core/messages";
import { type AgentTurn, resumeFrom } from "../agent-turn.ts";
import { permissionFor, makeJudge } from "../questions/permissions.ts";
import { answerByRule, askAboutCalls, type WaitingCall } from "../questions/ask.ts";
import { answerForms, callAgain } from "../questions/elicitation.ts";
import { type Ready, refused, rulingOf, STOPPED } from "../questions/questions.ts";
import { type AnswerSays, resumeCalls } from "../questions/resume.ts";
import { runToolCall, type ToolOutcome } from "../run-tool-call.ts";
import type { AgentTool, ToolTurn } from "../tool.ts";
import { AppError } from "../../errors/app-error.ts";
import type { NewStep } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { shownArguments } from "../../text/tool-arguments.ts";
import type { Agent } from "../../turn/agent.ts";
import { emit } from "../../turn/context.ts";
import type { Picture } from "../../turn/picture.ts";
import type { Question } from "../../turn/question.ts";
import type { PendingCall, ResumedTurn } from "../../turn/resumed-turn.ts";
import { retryWhileUnreachable } from "../../stores/postgres/turns/turn-lease.ts";
import { callKey, callsBefore, failuresBefore, interruptedCalls, makeLoopGuard } from "./loop-guard.ts";
import { shownOutput } from "./told-again.ts";
import { toolMessage } from "./window-with-steps.ts";

export interface CalledTools {
  /** A message for each call with a result, in order. */
  results: BaseMessage[];
  pictures: readonly Picture[];
  question: Question | null;
  end: string | null;
}

/** `again`: the call failed because its server asks something. It is repeated once somebody has answered. */
interface RanCall {
  message: BaseMessage;
  pictures: readonly Picture[];
  failsAgain: boolean;
  again: ReturnType<typeof callAgain> | null;
}

const takenOver = (): AppError =>
  new AppError("turn_superseded", "Another turn took over the conversation, or another process this turn, while an agent called tools.");

export type RunCalls = ReturnType<typeof makeRunCalls>;

export function makeRunCalls(turn: AgentTurn, agent: Agent, tools: readonly AgentTool[], elapsedMs: () => number) {
  const { held, runtime, signal, steps, progress } = turn;
  const { limits } = agent;
  const sideBySide = bulkhead(limits.parallel_tools, Infinity);
  const unsure = interruptedCalls(turn.earlier);
  const earlier = turn.earlier.filter((step) => step.turnId === held.turnId && step.agent === agent.name);
  const guard = makeLoopGuard(callsBefore(earlier, progress.loopsFrom ?? 0), failuresBefore(earlier));
  let round = earlier.filter(({ kind }) => kind === "model").length;
  const judge = makeJudge(turn, agent, tools);

  const { turnId, conversationId, tenantId, userId } = held;
  const toolTurn: ToolTurn = {
    ...{ tenantId, userId, turnId, conversationId, messageId: turn.messageId, agent: agent.name },
    showPlan: (items) => emit(runtime, { status: "plan", content: { items } }),
  };

  async function runCall(call: PendingCall, verdict: Ready): Promise<RanCall> {
    const { elicit, unanswered } = answerForms(call.forms ?? []);
    const { timeoutMs: own = turn.toolTimeoutMs } = tools.find(({ name }) => name === call.name) ?? {};
    const timeoutMs = Math.max(1, Math.min(own, limits.timeout_s * 1_000 - elapsedMs()));
    const outcome = async (): Promise<ToolOutcome> => {
      if ("outcome" in verdict) return verdict.outcome;
      // A rule may have come since somebody allowed it.
      const permission = (tool: AgentTool) => (permissionFor(agent.permissions, tool) === "deny" ? "deny" : verdict.run);
      const elicits = turn.interactive ? elicit : undefined;
      const onBroken = (error: AppError): void => turn.observer.tell({ happened: "tool_broke", tool: call.name, error });
      const parts = { tools, permissionOf: permission, turn: toolTurn, hooks: turn.hooks, timeoutMs, signal, elicit: elicits, onBroken };
      return runToolCall(call, parts);
    };
    const { ok, output, isCut, ms, pictures = [] } = await outcome();
    const ended = { seq: call.seq, output, ok, tokens: estimateTokens(output) };
    if (!(await retryWhileUnreachable(() => steps.end(held, ended), signal))) throw takenOver();
    const shown = shownOutput(output);
    const cut = isCut || shown.length < output.length;
    emit(runtime, { status: "tool_result", content: { call_id: call.id, agent: agent.name, name: call.name, ok, output: shown, cut, ms } });
    const form = ok ? null : unanswered();
    return {
      message: toolMessage(call.id, call.name, output),
      pictures,
      failsAgain: !ok && guard.noteFailure({ name: call.name, output, round }),
      again: form && callAgain(call, form, ++progress.steps),
    };
  }

  function tellCalls(calls: readonly PendingCall[]): void {
    for (const call of calls) {
      const content = { call_id: call.id, agent: agent.name, name: call.name, arguments: shownArguments(call) };
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
      calls.map(async (call, index) => {
        const key = callKey(call.name, shownArguments(call));
        const about = {
          count: guard.noteCall({ key, at: Date.now() }),
          mayHaveRun: unsure.has(key),
          passed: index === 0 ? passed : undefined,
        };
        return { call, verdict: known.get(call.seq) ?? (await judge(call, about)) };
      }),
    );
    const now = judged.flatMap(({ call, verdict }) => ("ask" in verdict ? [] : [{ call, verdict }]));
    const waiting = judged.flatMap(({ call, verdict }): WaitingCall[] => ("ask" in verdict ? [{ call, ask: verdict.ask }] : []));
    const begun = now.map(({ call, verdict }): NewStep => {
      const about = { seq: call.seq, agent: agent.name, kind: "tool" as const, name: call.name, callId: call.id };
      return { ...about, arguments: shownArguments(call), ruling: rulingOf(verdict) };
    });
    const toStore = thought ? [thought, ...begun] : begun;
    const state = resumeFrom(turn, agent, { pending: waiting.map(({ call }) => call), ...(end ? { end } : {}), elapsedMs: elapsedMs() });
    const goesOn = state ? { state, leaseMs: turn.leaseMs } : undefined;
    const isHeld = toStore.length === 0 || (await retryWhileUnreachable(() => steps.begin(held, toStore, goesOn), signal));
    if (!isHeld) throw takenOver();
    const again = now.flatMap(({ call }) => (call.forms ? [call] : [])); // the model has not made these
    progress.called.push(...again.map(({ name }) => name));
    tellCalls(thought ? calls : again);
    const ready = now.map(({ call, verdict }) => ({
      call,
      ...("unasked" in verdict ? answerByRule(runtime, agent, call, verdict.unasked) : { ready: verdict, end: null }),
    }));
    const ran = await Promise.all(ready.map(({ call, ready }) => sideBySide.execute(() => runCall(call, ready))));
    const results = ran.map(({ message }) => message);
    const pictures = ran.flatMap((one) => one.pictures);
    const failing = ready.find((_, index) => ran[index]?.failsAgain)?.call;
    const stop = end ?? ready.find((one) => one.end !== null)?.end ?? (failing ? tellFailure(failing.name) : null);
    const asking = stop === null ? [...waiting, ...ran.flatMap(({ again }) => again ?? [])] : waiting;
    if (asking.length === 0) return { results, pictures, question: null, end: stop };
    if (stop === null) return { results, pictures, question: await askAboutCalls(turn, agent, asking, elapsedMs()), end: null };
    const stopped = waiting.map(({ call }) => call);
    const rest = await run(stopped, { known: new Map(stopped.map(({ seq }) => [seq, STOPPED])), end: stop });
    return { ...rest, pictures, results: [...results, ...rest.results] };
  }

  return {
    /** Runs the calls of an answer; those over `free` are not run. */
    ofAnswer(calls: readonly PendingCall[], thought: NewStep, free: number): Promise<CalledTools> {
      const message = `A turn may call ${limits.max_tool_calls} tools. This call was not run.`;
      const tooMany = refused("too_many_tool_calls", message, "Answer now.");
      round++;
      return run(calls, { known: new Map(calls.slice(Math.max(0, free)).map(({ seq }) => [seq, tooMany])) }, thought);
    },
    async goOn(resumed: ResumedTurn): Promise<CalledTools> {
      const mayRunAgain = (name: string): boolean => turn.interactive || tools.some((tool) => tool.name === name && tool.onlyReads);
      const { calls, loopsFrom, ...says } = resumeCalls(resumed, earlier, mayRunAgain);
      if (says.runs) progress.isStepping = false;
      if (loopsFrom !== undefined) {
        guard.startAnew();
        progress.loopsFrom = loopsFrom;
      }
      return run(calls, says);
    },
  };
}
