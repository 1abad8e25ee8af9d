import { bulkhead } from "cockatiel";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { canonicalJson } from "../../agents/canonical-json.ts";
import { permissionFor } from "../../agents/permission.ts";
import { runToolCall, shownArguments, type ToolHooks, type ToolOutcome } from "../../agents/run-tool-call.ts";
import type { AgentTool, ToolTurn } from "../../agents/tool.ts";
import { AppError } from "../../errors/app-error.ts";
import type { PromptLimits } from "../../models/facts/prompt-limits.ts";
import type { AnswerTimeouts } from "../../models/deadlines.ts";
import { askInTurn, firstChoice, type ModelChoice } from "../../models/model-choice.ts";
import { formedAnswer } from "../../models/formed-answer.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import type { AskedCall } from "../../models/stream-chunks.ts";
import type { Observer } from "../../observe/observer.ts";
import type { HeldTurn } from "../../stores/postgres/conversations/recover-turn.ts";
import type { NewStep, StepOfQuestion, StepStore } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { Agent, PermissionAction } from "../../turn/agent.ts";
import { emit, type TurnRuntime } from "../../turn/context.ts";
import { millisecondsSince } from "../../turn/events.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import { retryWhileUnreachable } from "../turn-lease.ts";
import { agentLoop, type AgentRun, recursionLimit } from "./agent-loop.ts";
import { askWithinLimit, boundedOptions } from "../prompt/ask-within-limit.ts";
import { fitLoop, toolTokens } from "./fit-loop.ts";
import { addUsage, type AgentProgress } from "./agent-progress.ts";
import { toArguments, toolMessage } from "./window-with-steps.ts";

/** What all agents of one turn share. */
export interface AgentTurn {
  held: HeldTurn;
  messageId: string;
  runtime: TurnRuntime;
  signal: AbortSignal;
  choicesOf: (agent: Agent) => readonly ModelChoice[];
  steps: StepStore;
  hooks: ToolHooks;
  timeouts: AnswerTimeouts;
  limits: PromptLimits;
  toolTimeoutMs: number;
  observer: Observer;
  /** Of earlier attempts at this message. */
  earlier: readonly StepOfQuestion[];
  progress: AgentProgress;
}

/** Characters of an output in its event; the step has all. */
const SHOWN_CHARACTERS = 4_000;

const callKey = (name: string, given: unknown): string => `${name} ${canonicalJson(given)}`;

/** Calls of which it is not known whether they ran. */
function interruptedCalls(earlier: readonly StepOfQuestion[]): Set<string> {
  const cutOff = earlier.filter(({ kind, endedAt }) => kind === "tool" && endedAt === null);
  return new Set(cutOff.map(({ name, arguments: given }) => callKey(name, given)));
}

function overLimit(most: number): ToolOutcome {
  const what = {
    error: "too_many_tool_calls",
    message: `A turn may call ${most} tools. This call was not run.`,
    what_to_do: "Answer now.",
  };
  return { ok: false, output: JSON.stringify(what), isCut: false, ms: 0 };
}

/** The step of an answer; `output` is what the model said before its calls. */
export function modelStep({ progress }: AgentTurn, agent: Agent, answer: ModelAnswer, output?: string): NewStep {
  const about = { seq: progress.steps + 1, agent: agent.name, kind: "model" as const, name: [...progress.models].at(-1) ?? "" };
  return { ...about, output, tokens: answer.usage?.output_tokens ?? estimateTokens(answer.text), ms: millisecondsSince(progress.askedAt) };
}

export interface AgentAnswers {
  /** The id of the stored answer, for Studio. */
  answerId?: string;
  /** What the turn asks of the model. */
  modelOptions?: ModelOptions | undefined;
  onToken: (token: string) => void;
}

/** `prompt` makes what stands before the loop for so many tokens, with those of the tools. */
export interface AgentTask {
  prompt: (tokenBudget: number) => Promise<BaseMessage[]>;
  tools: readonly AgentTool[];
}

/** Runs the loop of an agent with these tools behind a prompt. The answer may have an error. Throws AppError, or the signal's reason. */
export async function runAgent(
  turn: AgentTurn,
  agent: Agent,
  { prompt, tools }: AgentTask,
  { answerId, modelOptions, onToken }: AgentAnswers,
): Promise<ModelAnswer> {
  const { held, runtime, signal, steps, progress } = turn;
  const { limits } = agent;
  const began = performance.now();
  const elapsedMs = () => performance.now() - began;
  const schemas = toolTokens(tools);
  const choices = turn.choicesOf(agent);
  const start = await prompt(turn.limits.of(firstChoice(choices).name));
  const sideBySide = bulkhead(limits.parallel_tools, Infinity);
  const unsure = interruptedCalls(turn.earlier);
  let calls = 0;

  function permissionOf(tool: AgentTool, call: AskedCall): PermissionAction {
    const permission = permissionFor(agent.permissions, tool);
    const mayRunAgain = tool.onlyReads || !unsure.has(callKey(call.name, shownArguments(call)));
    return permission === "allow" && !mayRunAgain ? "ask" : permission;
  }

  const { turnId, conversationId, tenantId, userId } = held;
  const toolTurn: ToolTurn = {
    ...{ tenantId, userId, turnId, conversationId, messageId: turn.messageId, agent: agent.name },
    showPlan: (items) => emit(runtime, { status: "plan", content: { items } }),
  };

  async function runCall(call: AskedCall, seq: number, mayRun: boolean): Promise<BaseMessage> {
    const { timeoutMs: own = turn.toolTimeoutMs } = tools.find(({ name }) => name === call.name) ?? {};
    const timeoutMs = Math.max(1, Math.min(own, limits.timeout_s * 1_000 - elapsedMs()));
    const parts = {
      tools,
      permissionOf: (tool: AgentTool) => permissionOf(tool, call),
      turn: toolTurn,
      hooks: turn.hooks,
      timeoutMs,
      signal,
    };
    const { ok, output, isCut, ms } = mayRun ? await runToolCall(call, parts) : overLimit(limits.max_tool_calls);
    await retryWhileUnreachable(() => steps.end(held, { seq, output, ok, tokens: estimateTokens(output) }), signal);
    const shown = output.slice(0, SHOWN_CHARACTERS).toWellFormed();
    const cut = isCut || shown.length < output.length;
    emit(runtime, { status: "tool_result", content: { call_id: call.id, agent: agent.name, name: call.name, ok, output: shown, cut, ms } });
    return toolMessage(call.id, call.name, output);
  }

  const run: AgentRun = {
    limits,
    elapsedMs,
    tellLimit(reached) {
      const message = `The agent "${agent.name}" has reached its limit of ${reached}. It answers from what there is.`;
      emit(runtime, { status: "notice", content: { code: "agent_limit", message } });
    },
    async ask(messages, { withTools }) {
      progress.askedAt = performance.now();
      const behind = messages.slice(start.length);
      const withSchemas = withTools ? schemas : 0;
      const {
        prompt: asked,
        answer,
        limit,
        answeredBy,
      } = await askInTurn(
        choices,
        ({ name, model }, { isLast }) =>
          askWithinLimit({
            limits: turn.limits,
            model: name,
            runtime,
            assemble: (budget) => fitLoop({ start, again: prompt, behind }, budget, withSchemas),
            toolTokens: withSchemas,
            ask: (fitting, maxTokens) =>
              formedAnswer({
                model,
                retries: isLast,
                modelOptions: boundedOptions(modelOptions, maxTokens),
                prompt: fitting.messages,
                tools: withTools ? tools.map(({ tool }) => tool) : undefined,
                timeouts: turn.timeouts,
                signal,
                callbacks: runtime.callbacks,
                messageId: answerId,
                watched: { observer: turn.observer, purpose: "chat" },
                onToken,
                onThought: (content) => emit(runtime, { status: "thought", content }),
              }),
            strategy: behind.length > 0 ? "prune" : "truncate",
          }),
        runtime.context?.onError,
      );
      progress.models.delete(answeredBy);
      progress.models.add(answeredBy);
      addUsage(progress, answer, { promptTokens: asked.tokens, limit });
      return answer;
    },
    async call(answer) {
      const thought = modelStep(turn, agent, answer, answer.text);
      const asked = answer.toolCalls.map((call, index) => {
        const given = { name: call.name, callId: call.id, arguments: shownArguments(call) };
        return { seq: thought.seq + index + 1, agent: agent.name, kind: "tool" as const, ...given };
      });
      progress.steps += asked.length + 1; // before it is stored: a subagent beside this one takes the numbers behind
      const isHeld = await retryWhileUnreachable(() => steps.begin(held, [thought, ...asked]), signal);
      if (!isHeld) throw new AppError("turn_superseded", "Another turn took over the conversation before the tools were called.");
      for (const { callId, name, arguments: given } of asked)
        emit(runtime, { status: "tool_call", content: { call_id: callId, agent: agent.name, name, arguments: given } });
      const free = limits.max_tool_calls - calls;
      calls += asked.length;
      progress.called.push(...asked.map(({ name }) => name));
      const results = answer.toolCalls.map((call, index) => {
        return sideBySide.execute(() => runCall(call, thought.seq + index + 1, index < free));
      });
      const said = new AIMessage({
        content: answer.text,
        tool_calls: asked.map(({ callId, name, arguments: given }) => ({ id: callId, name, args: toArguments(given) })),
      });
      return [said, ...(await Promise.all(results))];
    },
  };

  const options = { context: { run }, recursionLimit: recursionLimit(limits), callbacks: [] };
  const { answer } = await agentLoop.invoke({ messages: start }, options);
  return answer;
}
