import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { AppError } from "../../errors/app-error.ts";
import { abortableItems, type AnswerTimeouts, startAnswerDeadlines } from "../../models/deadlines.ts";
import { toModelError } from "../../models/model-error.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { observeWholeAnswer } from "../../models/observe-model-call.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import { agentPrompt } from "./agent-prompt.ts";
import { toolDefinitions } from "./memory-tools.ts";
import { type DecideMemory, maxMessageTokens, toTrigger } from "./remember-turns.ts";
import type { ToolCall, Trigger, WorkingMemory } from "./working-memory.ts";

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

/** Answers of the model to one reading: the last may only say that it is done. */
const ROUNDS = 4;
/** Of the calls in one answer, further ones are refused: a model that loops must not fill the log. */
const CALLS_A_ROUND = 16;

type BoundModel = ReturnType<NonNullable<BaseChatModel["bindTools"]>>;

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

/** The sections that have at most so many tokens together; what the model does not see it must not write over. */
function sectionsThatFit(contents: Record<string, string>, maxTokens: number): { shown: Record<string, string>; hidden: string[] } {
  let tokens = 0;
  const fits = ([, content]: [string, string]): boolean => (tokens += estimateTokens(content)) <= maxTokens;
  const shown = Object.fromEntries(Object.entries(contents).filter(fits));
  return { shown, hidden: Object.keys(contents).filter((section) => !Object.hasOwn(shown, section)) };
}

function answerCall(
  memory: WorkingMemory,
  call: ToolCall,
  read: readonly Trigger[],
  { isTooMany, hidden }: { isTooMany: boolean; hidden: string[] },
): Promise<string> {
  const { section } = (call.arguments ?? {}) as { section?: unknown };
  if (isTooMany) return Promise.resolve("Refused: too many calls at once.");
  if (hidden.some((name) => name === section))
    return Promise.resolve(`Refused: the section "${String(section)}" is too long to be changed.`);
  return memory.call(call, read);
}

/** Has a model decide by calling tools, in a few rounds. `readingTokens`: of the turns in its prompt, and as many of the sections. */
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
    const read = turns.map(toTrigger);
    for (let round = 0; round < ROUNDS; round++) {
      const answer = await observeWholeAnswer({ observer, purpose: "memory" }, model, messages, () =>
        ask(bound, messages, timeouts, signal),
      );
      const calls = readToolCalls(answer);
      if (calls.length === 0) return;
      messages.push(toCallMessage(answer, calls));
      for (const [position, call] of calls.entries()) {
        const said = await answerCall(memory, call, read, { isTooMany: position >= CALLS_A_ROUND, hidden });
        messages.push(new ToolMessage({ tool_call_id: call.id, content: said }));
      }
    }
  };
}
