import type { UsageMetadata } from "@langchain/core/messages";
import { makeThoughtSplitter, type SplitPiece } from "../../text/split-thoughts.ts";
import { type Delta, type Finish, readFinish } from "./delta.ts";
import { EchoCollector } from "./collect-echo.ts";
import { type Fields, isObject, isSomething } from "./fields.ts";
import { ServerFailure } from "./server-failure.ts";
import { makeTellCallsApart, type WirePiece } from "./tell-calls-apart.ts";

/** An event of a server, or its whole body. */
export interface WireEvent {
  event?: string | undefined;
  data: string;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const numberOf = (value: unknown): number | undefined => (typeof value === "number" && Number.isFinite(value) ? value : undefined);

/** The text of a content's part. Thinking parts hold a text, or parts again. */
function partText(part: unknown): string {
  if (typeof part === "string") return part;
  if (Array.isArray(part)) return part.map(partText).join("");
  if (!isObject(part)) return "";
  return partText(part["text"] ?? part["thinking"] ?? part["reasoning"] ?? part["summary"] ?? part["content"]);
}

const THINKING = /^(?:thinking|reasoning|reasoning_content|thought|redacted_thinking)$/;
const SPEAKING = /^(?:text|output_text|input_text)$/;

/** Reasoning beside the content, once, whatever its names. */
function thoughtOf(delta: Fields): string {
  const named = [delta["reasoning_content"], delta["reasoning"], delta["thinking"]].find(
    (value) => typeof value === "string" && value !== "",
  );
  if (typeof named === "string") return named;
  return listOf(delta["reasoning_details"]).map(partText).join("");
}

/** The pieces of calls with content, in a list or alone. `function_call` is the older form, which some send beside the newer. */
function piecesOf({ tool_calls: calls, function_call: call }: Fields): WirePiece[] {
  const pieces = (isObject(calls) ? [calls] : listOf(calls)).filter(isObject);
  const all: WirePiece[] = pieces.length === 0 && isObject(call) ? [call] : pieces;
  return all.filter(({ id, name, arguments: given, function: within }) =>
    [id, name, given, within?.name, within?.arguments].some(isSomething),
  );
}

/** The one requested answer. */
function choiceOf(frame: Fields): Fields | undefined {
  const choices = listOf(frame["choices"]).filter(isObject);
  return choices.find(({ index }) => index === undefined || index === null || Number(index) === 0);
}

/** Tokens by OpenAI's, DeepSeek's and Groq's names. Undefined without numbers. */
function readUsage(usage: unknown): UsageMetadata | undefined {
  if (!isObject(usage)) return undefined;
  const input = numberOf(usage["prompt_tokens"] ?? usage["input_tokens"]);
  const output = numberOf(usage["completion_tokens"] ?? usage["output_tokens"]);
  if (input === undefined && output === undefined) return undefined;
  const [input_tokens, output_tokens] = [input ?? 0, output ?? 0];
  const details = (usage["prompt_tokens_details"] ?? usage["input_tokens_details"]) as Fields | undefined;
  const cached = numberOf(details?.["cached_tokens"] ?? usage["prompt_cache_hit_tokens"] ?? usage["cached_tokens"]);
  const reasoning = numberOf((usage["completion_tokens_details"] as Fields | undefined)?.["reasoning_tokens"]);
  return {
    input_tokens,
    output_tokens,
    total_tokens: numberOf(usage["total_tokens"]) ?? input_tokens + output_tokens,
    ...(cached === undefined ? {} : { input_token_details: { cache_read: cached } }),
    ...(reasoning === undefined ? {} : { output_token_details: { reasoning } }),
  };
}

function saysSomething(delta: Fields): boolean {
  for (const name in delta) if (name !== "role" && isSomething(delta[name])) return true;
  return false;
}

function isMereText(message: Fields): message is Fields & { content: string } {
  for (const name in message) if (name !== "role" && name !== "content" && message[name] !== null) return false;
  return typeof message["content"] === "string" && message["content"] !== "";
}

const isFailure = (frame: Fields, event: string | undefined): boolean =>
  event === "error" || Boolean(frame["error"]) || frame["object"] === "error" || frame["type"] === "error";

export interface AnswerReaderOptions {
  /** The model begins its answers with a thought without an opening tag. */
  thinksFirst: boolean;
  from: string;
  headers?: Headers | undefined;
}

/**
 * Reads the events of one answer, in any dialect of OpenAI's protocol, into deltas. Pure but for its memory of this answer. Throws
 * ServerFailure for an error of the server, SyntaxError for what is no answer.
 */
export function makeAnswerReader({ thinksFirst, from, headers }: AnswerReaderOptions) {
  const splitter = makeThoughtSplitter({ thinksFirst });
  const calls = makeTellCallsApart();
  const echo = new EchoCollector();
  let finish: { finish: Finish; word: string } | null = null;
  let usage: UsageMetadata | undefined;
  let hasDeltas = false;
  let hasSaid = false;
  let hasThoughtField = false;

  const split = (pieces: readonly SplitPiece[]): Delta[] => {
    hasSaid ||= pieces.length > 0;
    return pieces as Delta[];
  };

  function readContent(content: unknown): Delta[] {
    if (typeof content === "string") return content === "" ? [] : split(splitter.push(content));
    return listOf(content).flatMap((part): Delta[] => {
      const kind = isObject(part) ? String(part["type"]) : "text";
      if (THINKING.test(kind)) return thought(partText(part));
      return SPEAKING.test(kind) ? split(splitter.push(partText(part))) : kind === "refusal" ? refusal((part as Fields)["refusal"]) : [];
    });
  }

  function thought(text: string): Delta[] {
    if (text === "") return [];
    hasThoughtField = true;
    return [{ type: "thought", text }];
  }

  function refusal(text: unknown): Delta[] {
    if (typeof text !== "string" || text === "") return [];
    hasSaid = true;
    return [{ type: "text", text, refused: true }];
  }

  function readMessage(message: Fields): Delta[] {
    if (isMereText(message)) return split(splitter.push(message.content)); // nearly every event
    echo.addMessage(message);
    const asked = piecesOf(message).map((piece) => {
      const call = calls.add(piece);
      echo.addCall(call.place, piece);
      hasSaid = true;
      return call;
    });
    return [...thought(thoughtOf(message)), ...readContent(message["content"]), ...refusal(message["refusal"]), ...asked];
  }

  /** A whole message after deltas repeats them. */
  function readChoice({ delta, message }: Fields): Delta[] {
    if (isObject(delta) && saysSomething(delta)) {
      hasDeltas = true;
      return readMessage(delta);
    }
    return isObject(message) && !hasDeltas ? readMessage(message) : [];
  }

  return {
    read({ event, data }: WireEvent): Delta[] {
      if (data.trim() === "") return [{ type: "alive" }];
      const frame: unknown = JSON.parse(data.startsWith("data:") ? data.slice(5) : data); // some write it twice
      const inList = Array.isArray(frame) ? (frame as unknown[])[0] : frame; // Gemini wraps its errors so
      if (!isObject(inList)) throw new SyntaxError("an event is no JSON object");
      if (isFailure(inList, event)) throw new ServerFailure({ status: undefined, body: inList, headers });
      const choice = choiceOf(inList);
      for (const place of [inList, choice, inList["x_groq"]])
        if (isObject(place) && place["usage"]) usage = readUsage(place["usage"]) ?? usage;
      if (!choice) return [{ type: "alive" }];
      const deltas = readChoice(choice);
      const word = choice["finish_reason"];
      const read = finish === null ? readFinish(word) : null;
      if (read) finish = { finish: read, word: String(word) };
      return deltas.length > 0 ? deltas : [{ type: "alive" }];
    },
    /** The rest at the end. `isDone`: the server has marked this end. */
    close(isDone: boolean): Delta[] {
      const ended = finish ?? (isDone && hasSaid ? { finish: "whole" as const, word: "[DONE]" } : null);
      const rest = split(splitter.end(ended?.finish === "whole"));
      const fields = echo.fields();
      return [
        ...rest,
        ...(usage ? [{ type: "usage" as const, usage }] : []),
        ...(fields ? [{ type: "echo" as const, echo: { from, ...fields } }] : []),
        ...(ended ? [{ type: "finish" as const, ...ended }] : []),
      ];
    },
    /** Whether the model begins with a thought without an opening tag; null: nothing new was learnt. */
    learntThinksFirst: (): boolean | null => {
      if (splitter.hasLoneClosing() && !hasThoughtField) return true;
      return splitter.thinksNotFirst() && finish?.finish === "whole" ? false : null;
    },
  };
}
