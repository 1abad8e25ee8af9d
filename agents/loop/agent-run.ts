import { formedAnswer } from "../../models/formed-answer.ts";
import { askInTurn, firstChoice } from "../../models/model-choice.ts";
import type { BaseMessage } from "@langchain/core/messages";
import { assistantMessage } from "../../models/wire/assistant-message.ts";
import { offeredTool } from "../offered-tool.ts";
import { stepQuestion } from "../questions/questions.ts";
import type { AgentTool } from "../tool.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import type { NewStep } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { shownArguments } from "../../text/tool-arguments.ts";
import type { Agent } from "../../turn/agent.ts";
import { emit } from "../../turn/context.ts";
import { millisecondsSince } from "../../turn/events.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import type { Question } from "../../turn/question.ts";
import { askWithinLimit, boundedOptions } from "../../prompt/ask-within-limit.ts";
import { makeAgentCalls } from "./run-calls.ts";
import { askQuestion } from "../questions/ask.ts";
import { addUsage, type AgentTurn, isStoppedBefore } from "../agent-turn.ts";
import { makeShowPictures } from "./pictures-of-results.ts";
import { agentLoop, type AgentRun, recursionLimit } from "./agent-loop.ts";
import { fitLoop, toolTokens } from "./fit-loop.ts";

/** The step of an answer; `output` is what the model said before its calls. */
export function modelStep({ progress }: AgentTurn, agent: Agent, answer: ModelAnswer, output?: string): NewStep {
  const about = { seq: progress.steps + 1, agent: agent.name, kind: "model" as const, name: [...progress.models].at(-1) ?? "" };
  return {
    ...about,
    output,
    echo: answer.echo,
    tokens: answer.usage?.output_tokens ?? estimateTokens(answer.text),
    ms: millisecondsSince(progress.askedAt),
  };
}

export interface AgentAnswers {
  /** The id of the stored answer, for Studio. */
  answerId?: string;
  /** What the turn asks of the model. */
  modelOptions?: ModelOptions | undefined;
  onToken: (token: string) => void;
}

export type AgentCalls = ReturnType<typeof makeAgentCalls>;

/** An agent that runs in a turn. `elapsedMs`: how long it has run, without waiting. */
export interface RunningAgent {
  agent: Agent;
  tools: readonly AgentTool[];
  calls: AgentCalls;
  elapsedMs: () => number;
}

/** `before`: milliseconds that it ran before its last question. */
export function startAgent(turn: AgentTurn, agent: Agent, tools: readonly AgentTool[], before = 0): RunningAgent {
  const began = performance.now() - before;
  const elapsedMs = (): number => performance.now() - began;
  return { agent, tools, calls: makeAgentCalls(turn, agent, tools, elapsedMs), elapsedMs };
}

/** Where a loop begins that goes on after a question. */
export interface LoopSoFar {
  rounds: number;
  toolCalls: number;
  /** Why no more tools are called. */
  end: string | null;
}

/** `prompt` makes what stands before the loop for so many tokens, with those of the tools. */
export interface AgentTask {
  prompt: (tokenBudget: number) => Promise<BaseMessage[]>;
  /** The message has pictures. Default false. */
  mustSee?: boolean;
  soFar?: LoopSoFar;
}

/** Runs the loop of an agent behind a prompt, to its answer or to a question. The answer may have an error. Throws AppError, or the signal's reason. */
export async function runAgent(
  turn: AgentTurn,
  { agent, tools, calls, elapsedMs }: RunningAgent,
  { prompt, mustSee = false, soFar = { rounds: 0, toolCalls: 0, end: null } }: AgentTask,
  { answerId, modelOptions, onToken }: AgentAnswers,
): Promise<{ answer: ModelAnswer; question: Question | null }> {
  const { runtime, signal, progress } = turn;
  const { limits } = agent;
  const schemas = toolTokens(tools);
  const choices = turn.choicesOf(agent);
  const start = await prompt(turn.limits.of(firstChoice(choices).name));
  let called = soFar.toolCalls;
  let mayStep = turn.mayStep;
  const showPictures = makeShowPictures({ sight: turn.sight, model: firstChoice(choices).name });

  const run: AgentRun = {
    limits,
    elapsedMs,
    tellLimit(reached) {
      const message = `The agent "${agent.name}" has reached its limit of ${reached}. It answers from what there is.`;
      emit(runtime, { status: "notice", content: { code: "agent_limit", message } });
    },
    async beforeModel({ end, rounds }) {
      if (mayStep || !isStoppedBefore(turn, rounds === 0 ? "first_model" : "next_model")) {
        mayStep = false;
        return null;
      }
      return askQuestion(turn, agent, {
        question: stepQuestion(agent.name, null),
        about: "step",
        pending: [],
        end,
        elapsedMs: elapsedMs(),
      });
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
            ...{ sight: turn.sight, mustSee },
            model: name,
            runtime,
            assemble: (budget) => fitLoop({ start, again: prompt, behind }, budget, withSchemas),
            toolTokens: withSchemas,
            ask: (fitting, maxTokens) =>
              formedAnswer({
                model,
                patience: isLast ? "long" : "short",
                modelOptions: boundedOptions(modelOptions, maxTokens),
                prompt: fitting.messages,
                tools: withTools ? tools.map(offeredTool) : undefined,
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
      const asked = answer.toolCalls.map((call, index) => ({ ...call, seq: thought.seq + index + 1 }));
      progress.steps += asked.length + 1; // before it is stored: a subagent beside this one takes the numbers behind
      progress.called.push(...asked.map(({ name }) => name));
      const free = limits.max_tool_calls - called;
      called += asked.length;
      const { results, pictures, question, end } = await calls.ofAnswer(asked, thought, free);
      const shown = asked.map((call) => ({ ...call, arguments: shownArguments(call) }));
      const said = assistantMessage({ text: answer.text, calls: shown, echo: answer.echo ?? null });
      return { messages: [said, ...results, ...showPictures(pictures)], question, end };
    },
  };

  const options = { context: { run }, recursionLimit: recursionLimit(limits), callbacks: [] };
  const { answer, question } = await agentLoop.invoke({ messages: start, ...soFar }, options);
  return { answer, question };
}
