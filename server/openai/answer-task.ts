import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { toAppError } from "../../errors/app-error.ts";
import { makeEventLog } from "../../graph/event-log.ts";
import type { Usage } from "../../graph/state.ts";
import type { AnswerTimeouts } from "../../models/answer-deadlines.ts";
import { estimateTokens } from "../../models/estimate-tokens.ts";
import { streamAnswer, type ModelAnswer } from "../../models/stream-answer.ts";
import { NOBODY, type Observer } from "../../observe/observer.ts";
import { assertNotTooLong } from "../chat-request.ts";
import type { LimitedTask } from "../limits/task-limits.ts";
import type { CompletionEvent } from "./completion-event.ts";
import type { CompletionMessage } from "./completion-request.ts";
import type { FrontEndTask } from "./front-end-task.ts";
import { offlineTaskAnswer } from "./offline-task-answer.ts";
import { jsonObjectIn, type StructuredAnswer } from "./structured-answer.ts";

export interface TaskModel {
  /** Null without a model's server: then answers are made of the words of the request. */
  model: BaseChatModel | null;
  timeouts: AnswerTimeouts;
  /** Watches its calls. Default: nobody. */
  observer?: Observer;
}

export interface TaskRequest {
  task: FrontEndTask;
  messages: CompletionMessage[];
  structured: StructuredAnswer | null;
  signal: AbortSignal;
}

function toMessage({ role, text }: CompletionMessage): BaseMessage {
  if (role === "assistant") return new AIMessage(text);
  return role === "system" || role === "developer" ? new SystemMessage(text) : new HumanMessage(text);
}

/** What the model is asked. Models and servers differ in what they know of schemas; all of them can read one. */
function messagesToModel({ messages, structured }: Pick<TaskRequest, "messages" | "structured">): CompletionMessage[] {
  if (!structured) return messages;
  const demand = `Answer with one JSON object and nothing else. Its JSON schema:\n${JSON.stringify(structured.schema)}`;
  return [{ role: "system", text: demand, otherParts: [] }, ...messages];
}

/** Throws AppError `message_too_long` when a task hands more characters to the model than a message may have. */
export function assertTaskFits({ messages, structured }: Pick<TaskRequest, "messages" | "structured">, maxMessageChars: number): void {
  const schema = structured ? [JSON.stringify(structured.schema) ?? ""] : [];
  assertNotTooLong("messages", [...messages.map(({ text }) => text), ...schema], maxMessageChars);
}

function toUsage({ usage, text }: Pick<ModelAnswer, "usage" | "text">, prompt: string): Usage {
  const counted = usage ?? { input_tokens: estimateTokens(prompt), output_tokens: estimateTokens(text) };
  const [prompt_tokens, completion_tokens] = [counted.input_tokens, counted.output_tokens];
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, estimated: usage === undefined };
}

/** Answers a front end's own task from the request alone: no memory is read, and none comes of it. */
export function answerTask(
  { model, timeouts, observer = NOBODY }: TaskModel,
  request: TaskRequest,
  { onUsage, onEnd }: LimitedTask,
): AsyncGenerator<CompletionEvent[], void> {
  const log = makeEventLog<CompletionEvent>();
  const { task, messages, structured, signal } = request;
  const say = (text: string): void => log.append({ kind: "text", text });

  async function ask(asked: CompletionMessage[]): Promise<ModelAnswer> {
    if (model) {
      const watched = { observer, purpose: "task" as const };
      return streamAnswer({ model, prompt: asked.map(toMessage), timeouts, signal, watched, onToken: structured ? () => undefined : say });
    }
    const text = offlineTaskAnswer(task, messages, structured);
    if (!structured) say(text);
    return { text, usage: undefined, error: null };
  }

  function finish(asked: CompletionMessage[], answer: ModelAnswer): void {
    const usage = toUsage(answer, asked.map(({ text }) => text).join("\n"));
    const isUnanswered = answer.text === "" && answer.error?.code.startsWith("model_"); // then it used nothing, as far as anybody knows
    if (!isUnanswered) onUsage(usage);
    if (answer.error) return log.append({ kind: "error", error: answer.error });
    if (structured) {
      const json = jsonObjectIn(answer.text) ?? offlineTaskAnswer(task, messages, structured);
      if (structured.tool === null) say(json);
      else log.append({ kind: "tool_call", call: { name: structured.tool, arguments: json } });
    }
    log.append({ kind: "end", finishReason: structured?.tool ? "tool_calls" : "stop", usage });
  }

  async function run(): Promise<void> {
    const asked = messagesToModel(request);
    finish(asked, await ask(asked));
  }

  void run()
    .catch((error: unknown) => log.append({ kind: "error", error: toAppError(error) }))
    .finally(() => {
      onEnd();
      log.end();
    });
  return log.readBatches();
}
