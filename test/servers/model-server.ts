import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { readJson, startHttpServer } from "./http-server.ts";
import { waitUntil } from "../support/wait-until.ts";

export interface ChatRequestBody {
  model: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  messages: {
    role: string;
    content: string;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    tool_call_id?: string;
  }[];
  tools?: { function: { name: string; parameters?: { properties?: Record<string, { enum?: string[] }> } } }[];
  tool_choice?: unknown;
  response_format?: { type: string };
  max_tokens?: number;
}

/** Arguments that are a text are sent as they are, JSON or not. */
export interface ScriptedToolCall {
  name: string;
  arguments: unknown;
  /** Default: call_1, call_2, … */
  id?: string;
}

export interface ModelScript {
  /** Default: 40 times "wordN ". */
  tokens?: string[];
  /** Reasoning before them. */
  thoughts?: string[];
  /** Streamed in pieces, after the tokens, of which there are none by default. */
  toolCalls?: ScriptedToolCall[];
  /** Milliseconds before the first token and between tokens. Default 0. */
  firstTokenMs?: number;
  betweenMs?: number;
  /** The first token waits for this. */
  until?: Promise<unknown>;
  status?: number;
  /** Of an answer with a `status`. Default: an error in words that nobody may see. */
  error?: object;
  /** Further headers of an answer with a `status`. */
  headers?: Record<string, string>;
  /** Default 100. */
  promptTokens?: number;
  /**
   * How it ends after the tokens; default `stop`, or `tool_calls`. `end` closes cleanly without a finish reason, `cut` drops the
   * connection, `hang` falls silent.
   */
  ending?: "stop" | "tool_calls" | "length" | "end" | "cut" | "hang";
  malformed?: boolean;
  withoutUsage?: boolean;
}

/** `key`: the header of it, with "Bearer". */
export type SeenRequest = { body: ChatRequestBody; key: string | undefined; aborted: boolean };

export type ModelServer = Awaited<ReturnType<typeof startModelServer>>;

const sleep = (milliseconds: number): Promise<void> => setTimeout(milliseconds, undefined, { ref: false });

/** Clients tell messages apart by it. */
const nextId = (): string => `chatcmpl-${randomUUID()}`;

const DEFAULT_TOKENS = Array.from({ length: 40 }, (_, index) => `word${index} `);

const usageOf = ({ promptTokens = 100 }: ModelScript, completion_tokens: number) => {
  return { prompt_tokens: promptTokens, completion_tokens, total_tokens: promptTokens + completion_tokens };
};

function* toolCallDeltas({ name, arguments: given, id }: ScriptedToolCall, index: number): Generator<object> {
  const whole = typeof given === "string" ? given : JSON.stringify(given);
  yield { tool_calls: [{ index, id: id ?? `call_${index + 1}`, type: "function", function: { name, arguments: "" } }] };
  for (let start = 0; start < whole.length; start += 7)
    yield { tool_calls: [{ index, function: { arguments: whole.slice(start, start + 7) } }] };
}

async function streamAnswer(response: ServerResponse, body: ChatRequestBody, script: ModelScript): Promise<void> {
  const { toolCalls = [], firstTokenMs = 0, betweenMs = 0 } = script;
  const { tokens = toolCalls.length > 0 ? [] : DEFAULT_TOKENS, ending = toolCalls.length > 0 ? "tool_calls" : "stop" } = script;
  const id = nextId();
  const frame = (fields: object): void => {
    response.write(`data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 1, model: body.model, ...fields })}\n\n`);
  };
  const delta = (content: object, finish_reason: string | null = null): void =>
    frame({ choices: [{ index: 0, delta: content, finish_reason }] });
  await script.until;
  if (firstTokenMs > 0) await sleep(firstTokenMs);
  response.writeHead(200, { "content-type": "text/event-stream" });
  delta({ role: "assistant", content: "" });
  for (const reasoning_content of script.thoughts ?? []) delta({ reasoning_content });
  for (const [index, content] of tokens.entries()) {
    if (response.destroyed) return;
    delta({ content });
    if (betweenMs > 0 && index < tokens.length - 1) await sleep(betweenMs);
  }
  for (const piece of toolCalls.flatMap((call, index) => [...toolCallDeltas(call, index)])) delta(piece);
  if (script.malformed) response.write("data: {not json\n\n");
  if (ending === "hang") return;
  if (ending === "cut") {
    await sleep(50); // the tokens before the cut arrive first
    response.destroy();
    return;
  }
  if (ending === "end") {
    response.end();
    return;
  }
  delta({}, ending);
  const completion_tokens = tokens.length;
  if (body.stream_options?.include_usage && !script.withoutUsage) frame({ choices: [], usage: usageOf(script, completion_tokens) });
  response.end("data: [DONE]\n\n");
}

/** For a client that does not stream; of the script only the tokens count. */
function wholeAnswer({ model }: ChatRequestBody, script: ModelScript): string {
  const { tokens = DEFAULT_TOKENS } = script;
  const message = { role: "assistant", content: tokens.join("") };
  const usage = usageOf(script, tokens.length);
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return JSON.stringify({ id: nextId(), object: "chat.completion", created: 1, model, choices, usage });
}

interface ModelServerOptions {
  port?: number;
  keepSeen?: boolean;
  /** Answers what is no chat completion. Default: 404. */
  other?: (request: IncomingMessage, response: ServerResponse) => unknown;
}

const notFound = (_request: IncomingMessage, response: ServerResponse): unknown => response.writeHead(404).end("{}");

export async function startModelServer({ port, keepSeen = true, other = notFound }: ModelServerOptions = {}) {
  let choose: (body: ChatRequestBody) => ModelScript = () => ({});
  const seen: SeenRequest[] = [];
  const server = await startHttpServer((request, response) => {
    void (async () => {
      if (!request.url?.endsWith("/chat/completions")) return other(request, response);
      const body = await readJson<ChatRequestBody>(request);
      const entry: SeenRequest = { body, key: request.headers.authorization, aborted: false };
      if (keepSeen) seen.push(entry);
      response.on("close", () => (entry.aborted = !response.writableFinished));
      const script = choose(body);
      if (script.status !== undefined) {
        response.writeHead(script.status, { "content-type": "application/json", ...script.headers });
        const { error = { message: "secret words of the model server", type: "server_error" } } = script;
        return response.end(JSON.stringify({ error }));
      }
      if (!body.stream) return response.writeHead(200, { "content-type": "application/json" }).end(wholeAnswer(body, script));
      return streamAnswer(response, body, script);
    })();
  }, port);
  return {
    url: `${server.origin}/v1`,
    seen,
    answer: (script: ModelScript | typeof choose): void => void (choose = typeof script === "function" ? script : () => script),
    /** Answers with these tokens as soon as the returned function is called. */
    hold(tokens = ["yes"]): () => void {
      const { promise: until, resolve } = Promise.withResolvers<void>();
      choose = () => ({ tokens, until });
      return resolve;
    },
    /** Waits for this many requests in `seen`. */
    async untilAsked(count = 1): Promise<void> {
      await waitUntil(`${count} requests at the model`, () => seen.length >= count);
    },
    close: server.close,
  };
}
