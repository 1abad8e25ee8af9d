import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { toAppError } from "../../errors/app-error.ts";
import { makeEventLog } from "../../graph/event-log.ts";
import type { Usage } from "../../turn/usage.ts";
import type { AnswerTimeouts } from "../../turn/deadlines.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { type ModelAnswer, streamAnswer } from "../../models/stream-answer.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import type { Observer } from "../../observe/observer.ts";
import { assertNotTooLong } from "../turns/chat-request.ts";
import type { Permit } from "../limits/admission.ts";
import type { CompletionEvent } from "./completion-stream.ts";
import { parseJsonObject } from "../../text/json-object.ts";
import type { CompletionMessage, StructuredAnswer } from "./completion-request.ts";
import type { FrontEndTask } from "./front-end-task.ts";

export interface TaskModel {
  /** Null without a model's server: the offline answers serve. */
  model: BaseChatModel | null;
  timeouts: AnswerTimeouts;
  observer: Observer;
}

interface TaskRequest {
  task: FrontEndTask;
  messages: CompletionMessage[];
  structured: StructuredAnswer | null;
  modelOptions: ModelOptions;
  signal: AbortSignal;
}

function toMessage({ role, text }: CompletionMessage): BaseMessage {
  if (role === "assistant") return new AIMessage(text);
  return role === "system" || role === "developer" ? new SystemMessage(text) : new HumanMessage(text);
}

/** A demanded schema is written into the messages, since not every server takes one. */
function messagesToModel({ messages, structured }: Pick<TaskRequest, "messages" | "structured">): CompletionMessage[] {
  if (!structured) return messages;
  const demand = `Answer with one JSON object and nothing else. Its JSON schema:\n${JSON.stringify(structured.schema)}`;
  return [{ role: "system", text: demand, images: [], otherParts: [] }, ...messages];
}

/** Throws AppError `message_too_long`. */
export function assertTaskFits({ messages, structured }: Pick<TaskRequest, "messages" | "structured">, maxMessageChars: number): void {
  const schema = structured ? [JSON.stringify(structured.schema) ?? ""] : [];
  assertNotTooLong("messages", [...messages.map(({ text }) => text), ...schema], maxMessageChars);
}

function toUsage({ usage, text }: Pick<ModelAnswer, "usage" | "text">, prompt: string): Usage {
  const counted = usage ?? { input_tokens: estimateTokens(prompt), output_tokens: estimateTokens(text) };
  const { input_tokens: prompt_tokens, output_tokens: completion_tokens } = counted;
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, estimated: usage === undefined };
}

/** Answers a front end's own task without reading or writing memory. */
export function answerTask(
  { model, timeouts, observer }: TaskModel,
  request: TaskRequest,
  permit: Permit,
): AsyncGenerator<CompletionEvent[], void> {
  const log = makeEventLog<CompletionEvent>();
  const { task, messages, structured, modelOptions, signal } = request;
  const say = (text: string): void => log.append({ kind: "text", text });

  async function ask(asked: CompletionMessage[]): Promise<ModelAnswer> {
    if (model) {
      const watched = { observer, purpose: "task" as const };
      const onToken = structured ? () => undefined : say;
      return streamAnswer({ model, prompt: asked.map(toMessage), modelOptions, timeouts, signal, watched, onToken });
    }
    const text = offlineTaskAnswer(task, messages, structured);
    if (!structured) say(text);
    return { text, toolCalls: [], usage: undefined, error: null, cut: null };
  }

  function finish(asked: CompletionMessage[], answer: ModelAnswer): void {
    const usage = toUsage(answer, asked.map(({ text }) => text).join("\n"));
    const isUnanswered = answer.text === "" && answer.error?.code.startsWith("model_");
    if (!isUnanswered) permit.addTokens(usage.total_tokens);
    if (answer.error) return log.append({ kind: "error", error: answer.error });
    if (structured) {
      const object = parseJsonObject(answer.text);
      const json = object ? JSON.stringify(object) : offlineTaskAnswer(task, messages, structured);
      if (structured.tool === null) say(json);
      else log.append({ kind: "tool_call", call: { name: structured.tool, arguments: json }, index: 0 });
    }
    log.append({ kind: "end", finishReason: structured?.tool ? "tool_calls" : (answer.cut ?? "stop"), usage });
  }

  async function run(): Promise<void> {
    const asked = messagesToModel(request);
    finish(asked, await ask(asked));
  }

  void run()
    .catch((error: unknown) => log.append({ kind: "error", error: toAppError(error) }))
    .finally(() => {
      permit.release();
      log.end();
    });
  return log.readBatches();
}

const TITLE_WORDS = 5;
const TITLE_CHARACTERS = 40;

/** The user's first words in a quoted chat, after USER:, User: or ||>User:. */
function firstSaidByUser(prompt: string): string {
  const start = Math.max(prompt.lastIndexOf("<chat_history>"), prompt.lastIndexOf("\nConversation:\n"), 0);
  return /^(?:\|\|>)?user:\s*"?(\S.*?)"?$/im.exec(prompt.slice(start))?.[1] ?? "";
}

function titleOf(prompt: string): string {
  const words = firstSaidByUser(prompt).trim().split(/\s+/).slice(0, TITLE_WORDS).join(" ");
  const title = [...words]
    .slice(0, TITLE_CHARACTERS)
    .join("")
    .replace(/(?<![\p{P}\s])[\p{P}\s]+$/u, "");
  return title || "New Chat";
}

const between = (text: string, start: string, end: string): string => text.split(start).at(-1)?.split(end)[0]?.trim() ?? "";

const OFFLINE_ANSWERS: Record<FrontEndTask, (prompt: string) => string> = {
  title: (prompt) => (/"title"\s*:/.test(prompt) ? JSON.stringify({ title: titleOf(prompt) }) : titleOf(prompt)),
  tags: () => JSON.stringify({ tags: ["General"] }),
  follow_ups: () => JSON.stringify({ follow_ups: [] }),
  queries: () => JSON.stringify({ queries: [] }),
  image_prompt: (prompt) => JSON.stringify({ prompt: firstSaidByUser(prompt) }),
  autocomplete: () => JSON.stringify({ text: "" }),
  emoji: () => "🙂",
  merge: (prompt) => between(prompt, "Responses from models: ", "\n\n").replaceAll('"""', ""),
  tool_choice: () => JSON.stringify({ tool_calls: [] }),
  summary: (prompt) => between(prompt, "### Messages Being Compacted:", "### Recent Messages Kept In Context:"),
  other: () => "{}",
};

/** The offline answer to a task, in the form it demands. */
function offlineTaskAnswer(task: FrontEndTask, messages: CompletionMessage[], structured: StructuredAnswer | null): string {
  const prompt = messages.map(({ text }) => text).join("\n");
  if (!structured) return OFFLINE_ANSWERS[task](prompt);
  const fields = { title: titleOf(prompt), language: /\p{Script=Han}/u.test(firstSaidByUser(prompt)) ? "Chinese" : "English" };
  return JSON.stringify(Object.fromEntries(Object.entries(fields).filter(([name]) => structured.properties.includes(name))));
}
