import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { waitUntil } from "../support/wait-until.ts";

export interface ChatRequestBody {
  model: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  messages: { role: string; content: string; tool_calls?: SentToolCall[]; tool_call_id?: string }[];
  tools?: { function: { name: string } }[];
}

/** A call of a tool as a client sends it back in the next request. */
export interface SentToolCall {
  id: string;
  function: { name: string; arguments: string };
}

/** A call of a tool in an answer; arguments that are a text are sent as they are, JSON or not. */
export interface ScriptedToolCall {
  name: string;
  arguments: unknown;
  /** Default: call_1, call_2, … */
  id?: string;
}

/** How the server answers one request. */
export interface ModelScript {
  /** Default: 40 times "wordN ". */
  tokens?: string[];
  /** Calls of tools, after the tokens, of which there are none unless they are given; in pieces, as real servers stream them. */
  toolCalls?: ScriptedToolCall[];
  /** Milliseconds before the first token and between tokens. Default 0. */
  firstTokenMs?: number;
  betweenMs?: number;
  /** The first token waits for this. */
  until?: Promise<unknown>;
  /** An HTTP error instead of an answer. */
  status?: number;
  /** How it ends after the tokens; default `stop`, or `tool_calls`. `end` closes cleanly without a finish reason, `cut` drops the connection, `hang` falls silent. */
  ending?: "stop" | "tool_calls" | "length" | "end" | "cut" | "hang";
  /** Sends a frame that is no JSON after the tokens. */
  malformed?: boolean;
  /** Leaves the token counts out. */
  withoutUsage?: boolean;
}

/** A request the server has seen; `aborted` once its connection closed before the answer was whole. */
export interface SeenRequest {
  body: ChatRequestBody;
  aborted: boolean;
}

export interface ModelServer {
  /** The value for OPENAI_BASE_URL. */
  url: string;
  seen: SeenRequest[];
  /** Answers from now on; a function chooses by the request. */
  answer(script: ModelScript | ((body: ChatRequestBody) => ModelScript)): void;
  /** Answers with these tokens as soon as the returned function is called. */
  hold(tokens?: string[]): () => void;
  /** Waits for this many requests in `seen`. */
  untilAsked(count?: number): Promise<void>;
  close(): Promise<void>;
}

/** Keeps no process alive: a client may have left long before the pause is over. */
const sleep = (milliseconds: number): Promise<void> => setTimeout(milliseconds, undefined, { ref: false });

/** Every answer has an id of its own, as real ones do: clients tell messages apart by it. */
const nextId = (): string => `chatcmpl-${randomUUID()}`;

const DEFAULT_TOKENS = Array.from({ length: 40 }, (_, index) => `word${index} `);

async function readJson(request: IncomingMessage): Promise<ChatRequestBody> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as ChatRequestBody;
}

/** The frames of one call: its name first, then its arguments a few characters at a time. */
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
  if (body.stream_options?.include_usage && !script.withoutUsage) {
    frame({ choices: [], usage: { prompt_tokens: 100, completion_tokens, total_tokens: 100 + completion_tokens } });
  }
  response.end("data: [DONE]\n\n");
}

/** The answer in one piece, for a client that does not stream; of the script only its tokens count. */
function wholeAnswer({ model }: ChatRequestBody, { tokens = DEFAULT_TOKENS }: ModelScript): string {
  const message = { role: "assistant", content: tokens.join("") };
  const usage = { prompt_tokens: 100, completion_tokens: tokens.length, total_tokens: 100 + tokens.length };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return JSON.stringify({ id: nextId(), object: "chat.completion", created: 1, model, choices, usage });
}

export interface ModelServerOptions {
  port?: number;
  keepSeen?: boolean;
  /** Answers what is no chat completion; 404 unless told. */
  other?: (request: IncomingMessage, response: ServerResponse) => unknown;
}

const notFound = (_request: IncomingMessage, response: ServerResponse): unknown => response.writeHead(404).end("{}");

/** An OpenAI-compatible server on a real socket with no model behind it: it answers what `answer` was told. */
export async function startModelServer({ port = 0, keepSeen = true, other = notFound }: ModelServerOptions = {}): Promise<ModelServer> {
  let choose: (body: ChatRequestBody) => ModelScript = () => ({});
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      if (!request.url?.endsWith("/chat/completions")) return other(request, response);
      const body = await readJson(request);
      const entry: SeenRequest = { body, aborted: false };
      if (keepSeen) seen.push(entry);
      response.on("close", () => (entry.aborted = !response.writableFinished));
      const script = choose(body);
      if (script.status !== undefined) {
        response.writeHead(script.status, { "content-type": "application/json" });
        return response.end(JSON.stringify({ error: { message: "secret words of the model server", type: "server_error" } }));
      }
      if (!body.stream) return response.writeHead(200, { "content-type": "application/json" }).end(wholeAnswer(body, script));
      return streamAnswer(response, body, script);
    })();
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen,
    answer: (script) => (choose = typeof script === "function" ? script : () => script),
    hold(tokens = ["yes"]) {
      const { promise: until, resolve } = Promise.withResolvers<void>();
      choose = () => ({ tokens, until });
      return resolve;
    },
    async untilAsked(count = 1) {
      await waitUntil(`${count} requests at the model`, () => seen.length >= count);
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
