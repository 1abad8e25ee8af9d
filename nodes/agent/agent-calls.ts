import { bulkhead } from "cockatiel";
import type { BaseMessage } from "@langchain/core/messages";
import { canonicalJson } from "../../agents/canonical-json.ts";
import { permissionFor } from "../../agents/permission.ts";
import { answerForModel, callerQuestion, callerResults, isAllowed, permissionQuestion } from "../../agents/questions.ts";
import { notRun, runToolCall, ToolError, type ToolOutcome } from "../../agents/run-tool-call.ts";
import type { AgentTool, ToolTurn } from "../../agents/tool.ts";
import { toolDigest } from "../../agents/tool-digest.ts";
import { AppError } from "../../errors/app-error.ts";
import type { NewStep, StepOfQuestion } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { parseArguments, shownArguments } from "../../text/tool-arguments.ts";
import type { Agent, PermissionAction } from "../../turn/agent.ts";
import { emit } from "../../turn/context.ts";
import type { Question } from "../../turn/question.ts";
import type { NewQuestion, PendingCall, ResumedTurn } from "../../turn/resumed-turn.ts";
import { retryWhileUnreachable } from "../turn-lease.ts";
import type { AgentTurn } from "./agent-turn.ts";
import { askQuestion, tellUnasked } from "./ask-question.ts";
import { toolMessage } from "./window-with-steps.ts";

/** Characters of an output in its event; the step has all. */
const SHOWN_CHARACTERS = 4_000;

const callKey = (name: string, given: unknown): string => `${name} ${canonicalJson(given)}`;

/** Calls of which it is not known whether they ran. */
function interruptedCalls(earlier: readonly StepOfQuestion[]): Set<string> {
  const cutOff = earlier.filter(({ kind, endedAt }) => kind === "tool" && endedAt === null);
  return new Set(cutOff.map(({ name, arguments: given }) => callKey(name, given)));
}

/** What becomes of a call: it runs as far as it can, it has its outcome without running, or somebody is asked first; null: the caller. */
type Verdict = Ready | { ask: NewQuestion | null } | { unasked: NewQuestion };
type Ready = { run: PermissionAction } | { outcome: ToolOutcome };

const denied = (message: string): Ready => ({
  outcome: notRun(new ToolError("permission_denied", message, "Do without it, and say so.")),
});

const said = (output: string): Ready => ({ outcome: { ok: true, output, isCut: false, ms: 0 } });

/** The question of a call that asks one, or what is wrong with the call. */
function askedBy(asks: NonNullable<AgentTool["asks"]>, given: Record<string, unknown>, { interactive }: AgentTurn): Verdict {
  try {
    const question = asks(given);
    return interactive ? { ask: question } : { unasked: question };
  } catch (thrown) {
    if (thrown instanceof ToolError) return { outcome: notRun(thrown) };
    throw thrown;
  }
}

/** What the answer to a question says about the calls that it was about. */
function answeredCalls({ answered, state }: ResumedTurn): Map<number, Ready> {
  const { question, text } = answered;
  const inWords = text === null ? "" : ` They say: ${text}`;
  if (question.type === "client_tool") {
    const results = callerResults(answered);
    return new Map(
      state.pending.map(({ id, seq }) => {
        const output = results.get(id);
        const none = new ToolError("not_answered", "The caller sent no result of this call.", "Do without it, and say so.");
        return [seq, { outcome: output === undefined ? notRun(none) : { ok: true, output, isCut: false, ms: 0 } }];
      }),
    );
  }
  const [asked] = state.pending;
  if (!asked) return new Map();
  if (question.type !== "permission") return new Map([[asked.seq, said(answerForModel(question, answered))]]);
  const nobody = answered.by === "timeout";
  const refusal = denied(nobody ? `Nobody allowed "${asked.name}" in time.` : `The person did not allow "${asked.name}".${inWords}`);
  return new Map([[asked.seq, isAllowed(answered) ? { run: "allow" } : refusal]]);
}

/** What came of the calls of an answer. */
export interface CalledTools {
  /** A message for each call that has its result, in the order of the calls. */
  results: BaseMessage[];
  /** The turn has to wait for its answer. */
  question: Question | null;
}

/** Runs the calls of an agent, or asks whether they may run. */
export function makeAgentCalls(turn: AgentTurn, agent: Agent, tools: readonly AgentTool[], elapsedMs: () => number) {
  const { held, runtime, signal, steps, progress } = turn;
  const { limits } = agent;
  const sideBySide = bulkhead(limits.parallel_tools, Infinity);
  const unsure = interruptedCalls(turn.earlier);
  let allowed: Promise<ReadonlyMap<string, string>> | undefined;

  const { turnId, conversationId, tenantId, userId } = held;
  const toolTurn: ToolTurn = {
    ...{ tenantId, userId, turnId, conversationId, messageId: turn.messageId, agent: agent.name },
    showPlan: (items) => emit(runtime, { status: "plan", content: { items } }),
  };

  /** A call that was cut off asks again, whoever allowed the tool for good. */
  async function permissionOf(tool: AgentTool, call: PendingCall): Promise<PermissionAction> {
    const permission = permissionFor(agent.permissions, tool);
    const mayHaveRun = !tool.onlyReads && unsure.has(callKey(call.name, shownArguments(call)));
    if (permission === "allow") return mayHaveRun ? "ask" : "allow";
    if (permission === "deny" || mayHaveRun) return permission;
    allowed ??= retryWhileUnreachable(() => turn.permissions.ofAgent(held, agent.name), signal);
    return (await allowed).get(tool.name) === toolDigest(tool) ? "allow" : "ask";
  }

  /** What cannot run anyway is not asked about. */
  async function judge(call: PendingCall): Promise<Verdict> {
    const tool = tools.find(({ name }) => name === call.name);
    const given = parseArguments(call.arguments);
    if (!tool || given === null) return { run: "allow" };
    if (tool.runsAtCaller) return { ask: null };
    const permission = await permissionOf(tool, call);
    if (tool.asks && permission !== "deny") return askedBy(tool.asks, given, turn);
    return permission === "ask" && turn.interactive ? { ask: permissionQuestion(agent.name, call, toolDigest(tool)) } : { run: permission };
  }

  async function runCall(call: PendingCall, verdict: Ready): Promise<BaseMessage> {
    const { timeoutMs: own = turn.toolTimeoutMs } = tools.find(({ name }) => name === call.name) ?? {};
    const timeoutMs = Math.max(1, Math.min(own, limits.timeout_s * 1_000 - elapsedMs()));
    const outcome = async (): Promise<ToolOutcome> => {
      if ("outcome" in verdict) return verdict.outcome;
      // A rule may have come since somebody allowed it.
      const permission = (tool: AgentTool) => (permissionFor(agent.permissions, tool) === "deny" ? "deny" : verdict.run);
      return runToolCall(call, { tools, permissionOf: permission, turn: toolTurn, hooks: turn.hooks, timeoutMs, signal });
    };
    const { ok, output, isCut, ms } = await outcome();
    await retryWhileUnreachable(() => steps.end(held, { seq: call.seq, output, ok, tokens: estimateTokens(output) }), signal);
    const shown = output.slice(0, SHOWN_CHARACTERS).toWellFormed();
    const cut = isCut || shown.length < output.length;
    emit(runtime, { status: "tool_result", content: { call_id: call.id, agent: agent.name, name: call.name, ok, output: shown, cut, ms } });
    return toolMessage(call.id, call.name, output);
  }

  /** The first that has to be asked about; the caller's calls come last, and together. */
  function nextQuestion(waiting: readonly { call: PendingCall; ask: NewQuestion | null }[]): {
    question: NewQuestion;
    pending: PendingCall[];
  } {
    const inOrder = [...waiting].sort((one, other) => Number(one.ask === null) - Number(other.ask === null));
    const pending = inOrder.map(({ call }) => call);
    return { question: inOrder[0]?.ask ?? callerQuestion(agent.name, pending), pending };
  }

  /** Of a question that nobody can be asked. Throws AppError `question_unanswered`. */
  function unasked(question: NewQuestion): Ready {
    const answer = { value: question.ifUnanswered, text: null, by: "rule" } as const;
    return said(answerForModel(tellUnasked(runtime, agent, question), answer));
  }

  /** Stores the calls that run now, behind the step of the answer that asked for them, and runs them; then asks about the others. */
  async function run(
    calls: readonly PendingCall[],
    known: ReadonlyMap<number, Ready>,
    thought: NewStep | null = null,
  ): Promise<CalledTools> {
    const judged = await Promise.all(calls.map(async (call) => ({ call, verdict: known.get(call.seq) ?? (await judge(call)) })));
    const now = judged.flatMap(({ call, verdict }) => ("ask" in verdict ? [] : [{ call, verdict }]));
    const waiting = judged.flatMap(({ call, verdict }) => ("ask" in verdict ? [{ call, ask: verdict.ask }] : []));
    const begun = now.map(({ call }): NewStep => {
      return { seq: call.seq, agent: agent.name, kind: "tool", name: call.name, callId: call.id, arguments: shownArguments(call) };
    });
    const toStore = thought ? [thought, ...begun] : begun;
    const isHeld = toStore.length === 0 || (await retryWhileUnreachable(() => steps.begin(held, toStore), signal));
    if (!isHeld) throw new AppError("turn_superseded", "Another turn took over the conversation before the tools were called.");
    if (thought) {
      for (const call of calls) {
        const content = { call_id: call.id, agent: agent.name, name: call.name, arguments: shownArguments(call) };
        emit(runtime, { status: "tool_call", content });
      }
    }
    const ready = now.map(({ call, verdict }) => ({ call, verdict: "unasked" in verdict ? unasked(verdict.unasked) : verdict }));
    const results = await Promise.all(ready.map(({ call, verdict }) => sideBySide.execute(() => runCall(call, verdict))));
    if (waiting.length === 0) return { results, question: null };
    progress.elapsedMs = elapsedMs();
    return { results, question: await askQuestion(turn, agent, nextQuestion(waiting)) };
  }

  return {
    /** Runs the calls of an answer; those over `free` are not run. */
    ofAnswer(calls: readonly PendingCall[], thought: NewStep, free: number): Promise<CalledTools> {
      const message = `A turn may call ${limits.max_tool_calls} tools. This call was not run.`;
      const tooMany: Ready = { outcome: notRun(new ToolError("too_many_tool_calls", message, "Answer now.")) };
      return run(calls, new Map(calls.slice(Math.max(0, free)).map(({ seq }) => [seq, tooMany])), thought);
    },
    /** Does what the answer says about the calls that waited for it. A call that has begun before is left alone: it may have run. */
    async afterAnswer(resumed: ResumedTurn): Promise<Question | null> {
      const begun = new Set(turn.earlier.flatMap((step) => (step.turnId === turnId && step.kind === "tool" ? [step.seq] : [])));
      const pending = resumed.state.pending.filter(({ seq }) => !begun.has(seq));
      return (await run(pending, answeredCalls(resumed))).question;
    },
  };
}
