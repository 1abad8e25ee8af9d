import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { AppError } from "../../errors/app-error.ts";
import { abortableItems, type AnswerTimeouts, startAnswerDeadlines } from "../../models/deadlines.ts";
import { toModelError } from "../../models/model-error.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { observeWholeAnswer } from "../../models/observe-model-call.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import { agentPrompt } from "./agent-prompt.ts";
import { type ToolCall, toolDefinitions } from "./memory-tools.ts";
import { type DecideMemory, maxMessageTokens } from "./remember-turns.ts";

/** Answers of the model to one reading. */
const MAX_ROUNDS = 4;
/** Further calls in one answer are refused: a model that loops must not fill the log. */
const MAX_CALLS_A_ROUND = 16;

type BoundModel = ReturnType<NonNullable<BaseChatModel["bindTools"]>>;

/** Has a model decide by calling tools, in a few rounds. Its prompt has at most `readingTokens` of turns, and as many of sections. */
export function makeDecideWithModel({
  model,
  timeouts,
  readingTokens,
  observer = NOOP_OBSERVER,
}: {
  model: BaseChatModel;
  timeouts: AnswerTimeouts;
  readingTokens: number;
  observer?: Observer;
}): DecideMemory {
  return async function decideWithModel({ memory, turns, sections, newestIn }, signal) {
    if (!model.bindTools)
      throw new AppError("invalid_configuration", "The memory model cannot call tools. Set MEMORY_MODEL to one that can.");
    const { shown, hidden } = sectionsThatFit(memory.contents(), readingTokens);
    const writable = sections.filter((section) => !hidden.includes(section));
    const bound = model.bindTools(toolDefinitions(writable));
    const messages = agentPrompt({ contents: shown, newestIn, sections: writable, turns, messageTokens: maxMessageTokens(readingTokens) });
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const answer = await observeWholeAnswer({ observer, purpose: "memory" }, model, messages, () =>
        ask(bound, messages, timeouts, signal),
      );
      const calls = readToolCalls(answer);
      if (calls.length === 0) return;
      messages.push(toCallMessage(answer, calls));
      for (const [position, call] of calls.entries()) {
        const content = refusalOf(call, position, hidden) ?? (await memory.call(call, turns));
        messages.push(new ToolMessage({ tool_call_id: call.id, content }));
      }
    }
  };
}

/** The sections that have at most so many tokens together; what the model does not see it must not write over. */
function sectionsThatFit(contents: Record<string, string>, maxTokens: number): { shown: Record<string, string>; hidden: string[] } {
  let tokens = 0;
  const fits = ([, content]: [string, string]): boolean => (tokens += estimateTokens(content)) <= maxTokens;
  const shown = Object.fromEntries(Object.entries(contents).filter(fits));
  return { shown, hidden: Object.keys(contents).filter((section) => !Object.hasOwn(shown, section)) };
}

/** Why a call is refused before it comes to the working memory; null when it is not. */
function refusalOf(call: ToolCall, position: number, hidden: readonly string[]): string | null {
  if (position >= MAX_CALLS_A_ROUND) return "Refused: too many calls at once.";
  const { section } = (call.arguments ?? {}) as { section?: unknown };
  const isHidden = hidden.some((name) => name === section);
  return isHidden ? `Refused: the section "${String(section)}" is too long to be changed.` : null;
}

async function* streamOf(model: BoundModel, messages: BaseMessage[], signal: AbortSignal): AsyncGenerator<AIMessageChunk, void> {
  yield* await model.stream(messages, { signal });
}

/** One answer, streamed, so that the deadlines of an answer hold. Throws AppError as an answer to a person would have as its error. */
async function ask(model: BoundModel, messages: BaseMessage[], timeouts: AnswerTimeouts, signal: AbortSignal): Promise<AIMessageChunk> {
  const deadlines = startAnswerDeadlines(timeouts, signal);
  let whole: AIMessageChunk | undefined;
  try {
    for await (const chunk of abortableItems(streamOf(model, messages, deadlines.signal), deadlines.signal)) {
      deadlines.tokenCame();
      whole = whole ? whole.concat(chunk) : chunk;
    }
  } catch (error) {
    throw toModelError(deadlines.signal.aborted ? deadlines.signal.reason : error, whole !== undefined);
  } finally {
    deadlines.clear();
  }
  // A connection that is closed early ends the stream like a complete answer: only the finish reason tells.
  if (!whole?.response_metadata["finish_reason"])
    throw new AppError("model_incomplete", "The memory model ended its answer without saying that it was complete.");
  return whole;
}

interface IdentifiedCall extends ToolCall {
  id: string;
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return text;
  }
}

/**
 * The calls of an answer in their order, read strictly: LangChain completes JSON that was cut off, and half a section would take the place
 * of the whole one. Arguments that are no JSON stay the text they are, to be refused.
 */
function readToolCalls(answer: AIMessageChunk): IdentifiedCall[] {
  const pieces = (answer.tool_call_chunks ?? []).map(({ id, name, args }) => {
    return { id: id ?? "", name: name ?? "", arguments: parseArguments(args ?? "") };
  });
  if (pieces.length > 0) return pieces;
  return (answer.tool_calls ?? []).map(({ id, name, args }) => ({ id: id ?? "", name, arguments: args as unknown })); // it came in one piece
}

/** The answer as it goes back to the model: with every call that gets an answer of its tool, those with broken arguments too. */
function toCallMessage(answer: AIMessageChunk, calls: readonly IdentifiedCall[]): AIMessage {
  return new AIMessage({
    content: answer.text,
    tool_calls: calls.map(({ id, name, arguments: given }) => {
      const args = typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
      return { id, name, args, type: "tool_call" as const };
    }),
  });
}
