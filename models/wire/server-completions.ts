import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { ChatOpenAI, ChatOpenAICompletions } from "@langchain/openai";
import { askForForm } from "./answer-form.ts";
import { serverWords } from "./server-words.ts";
import type { ModelOptions, ResponseFormat } from "../../turn/model-options.ts";
import { type Amendment, findAmendment, MOST_AMENDMENTS } from "./amendments.ts";
import { makeCallCollector } from "./collect-calls.ts";
import type { Delta } from "./delta.ts";
import { amendmentsOf, type Dialects, makeDialects, type ServedModel, servedKey } from "./dialects.ts";
import { reasonOf } from "./failure-reason.ts";
import { isEnd, postForEvents } from "./post-for-events.ts";
import { makeAnswerReader } from "./read-answer.ts";
import { type Gateway, serverHeaders, serverName, serverUrl, withV1 } from "./server-address.ts";
import { readFailure, ServerFailure } from "./server-failure.ts";
import { shapeMessages, withLastWords } from "./shape-messages.ts";
import { deltaOf, isToken, toGeneration } from "./to-generation.ts";
import { toWireMessages } from "./to-wire-messages.ts";
import type { WireMessage } from "./wire-message.ts";

/** An option of LangChain's calls that brings a turn's options to our models. Other models ignore it. */
export interface WithModelOptions {
  modelOptions?: ModelOptions | undefined;
}

/** A server and what is known of its dialect. */
export interface ServerOptions extends Gateway {
  url: string;
  apiKey: string | undefined;
  /** Default: lessons stay in this process. */
  dialects?: Dialects | undefined;
  amendments?: readonly Amendment[] | undefined;
}

type CompletionsFields = ConstructorParameters<typeof ChatOpenAICompletions>[0] & { model: string };
type CallOptions = ChatOpenAICompletions["ParsedCallOptions"] & WithModelOptions;
type Body = Record<string, unknown> & { messages: WireMessage[] };

/** The field that an amendment leaves out of a request. */
const LEFT_OUT: Partial<Record<Amendment, string>> = {
  no_stream_options: "stream_options",
  no_temperature: "temperature",
  no_top_p: "top_p",
  no_parallel_tool_calls: "parallel_tool_calls",
  no_json_schema: "response_format",
};

/** A model behind a server with a dialect of OpenAI's protocol. Every call streams, and is sent and read by the rules of `models/wire`. */
export class ServerCompletions extends ChatOpenAICompletions {
  readonly #server: ServerOptions;
  readonly #dialects: Dialects;
  /** The server and model under which its dialect is learnt. */
  readonly served: ServedModel;

  constructor(fields: CompletionsFields, server: ServerOptions) {
    super(fields);
    this.#server = server;
    this.#dialects = server.dialects ?? makeDialects();
    this.served = { server: serverName(server.url), model: fields.model };
  }

  /** LangChain takes most of these from the model alone. An answer is never longer than the model's own bound. */
  override invocationParams(
    options?: this["ParsedCallOptions"] & WithModelOptions,
    extra?: { streaming?: boolean },
  ): ReturnType<ChatOpenAICompletions["invocationParams"]> {
    const params = super.invocationParams(options, extra);
    const { max_tokens: asked, parallel_tool_calls, ...others } = options?.modelOptions ?? {};
    const bound = "max_completion_tokens" in params ? "max_completion_tokens" : "max_tokens"; // reasoning models have the first
    return {
      ...params,
      ...(others as Partial<typeof params>),
      stream: params.stream ?? null,
      ...(parallel_tool_calls !== undefined && params.tools ? { parallel_tool_calls } : {}), // refused without tools
      ...(asked === undefined ? {} : { [bound]: Math.min(asked, params[bound] ?? Infinity) }),
    };
  }

  /**
   * Streams an answer. Amends a refused request, at most three times, and remembers what helped. Throws ServerFailure, ConnectionError,
   * SyntaxError or the signal's reason.
   */
  async *deltas(messages: readonly BaseMessage[], options: CallOptions): AsyncGenerator<Delta[], void> {
    const params = this.invocationParams(options, { streaming: true });
    const asked = new Set(Object.keys(options.modelOptions ?? {}).filter((name) => name !== "max_tokens"));
    const tried: { what: Amendment; words: string }[] = [];
    for (;;) {
      const amendments = amendmentsOf(this.#server.amendments ?? [], [...this.#dialects.of(this.served), ...tried]);
      const wire = toWireMessages(messages, amendments.has("no_echo") ? null : servedKey(this.served));
      const body: Body = { ...this.#body(params, amendments), messages: shapeMessages(withForm(wire, params, amendments), amendments) };
      const url = serverUrl(this.#server.url, "/chat/completions");
      let hasBegun = false;
      try {
        for await (const deltas of this.#attempt(amendments.has("v1_path") ? withV1(url) : url, body, amendments, options.signal)) {
          if (!hasBegun && deltas.some(({ type }) => type !== "alive")) {
            hasBegun = true;
            for (const { what, words } of tried) this.#dialects.learn(this.served, what, words);
          }
          yield deltas;
        }
        return;
      } catch (error) {
        if (hasBegun || !(error instanceof ServerFailure) || tried.length === MOST_AMENDMENTS) throw error;
        const what = findAmendment(error, { body, url, asked });
        // LiteLLM mistakes a long id for a long prompt.
        const isOther = reasonOf(error) !== undefined && what !== "short_ids";
        if (what === null || isOther || amendments.has(what)) throw error;
        tried.push({
          what,
          words: serverWords(
            error,
            messages.map(({ text }) => text),
          ),
        });
      }
    }
  }

  async *#attempt(
    url: URL,
    body: Body,
    amendments: ReadonlySet<Amendment>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Delta[], void> {
    const headers = serverHeaders(url, this.#server.apiKey, this.#server);
    const answer = await postForEvents({ url, headers, body: JSON.stringify(body), signal });
    if (answer.status < 200 || answer.status > 299) throw await readFailure(answer);
    const thinksFirst = amendments.has("thinks_first");
    const reader = makeAnswerReader({ from: servedKey(this.served), thinksFirst, headers: answer.headers });
    let isDone = false;
    for await (const events of answer.events()) {
      const deltas: Delta[] = [];
      try {
        for (const event of events) {
          if (isEnd(event)) isDone = true;
          else if (event.isComment) deltas.push({ type: "alive" });
          else deltas.push(...reader.read(event));
          isDone ||= event.isWhole === true;
        }
      } catch (error) {
        if (deltas.length > 0) yield deltas; // earlier deltas are part of the answer
        throw error;
      }
      yield deltas;
    }
    yield reader.close(isDone);
    const learnt = reader.learntThinksFirst();
    if (learnt === true) this.#dialects.learn(this.served, "thinks_first", "It closed a thought that it had not opened.");
    else if (learnt === false) this.#dialects.forget(this.served, "thinks_first");
  }

  #body(params: ReturnType<ChatOpenAICompletions["invocationParams"]>, amendments: ReadonlySet<Amendment>): Record<string, unknown> {
    const body: Record<string, unknown> = { ...params, stream: true, ...this.#server.extraBody };
    for (const [amendment, name] of Object.entries(LEFT_OUT)) if (amendments.has(amendment as Amendment)) body[name] = undefined;
    if (amendments.has("tool_choice_auto") && body["tool_choice"] !== undefined) body["tool_choice"] = "auto";
    const [old, now] = amendments.has("max_completion_tokens")
      ? ["max_tokens", "max_completion_tokens"]
      : ["max_completion_tokens", "max_tokens"];
    if ((amendments.has("max_completion_tokens") || amendments.has("max_tokens")) && body[old] !== undefined) {
      body[now] = body[old];
      body[old] = undefined;
    }
    for (const [name, value] of Object.entries(body)) if (value === null || value === undefined || isEmptyList(value)) delete body[name];
    return body;
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for await (const delta of eachOf(this.deltas(messages, options))) {
      const chunk = toGeneration(delta);
      yield chunk;
      if (isToken(chunk.message as AIMessageChunk))
        await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  /** LangChain's own would parse the server's events. */
  override _streamChatModelEvents(
    ...given: Parameters<ChatOpenAICompletions["_streamChatModelEvents"]>
  ): ReturnType<ChatOpenAICompletions["_streamChatModelEvents"]> {
    return BaseChatModel.prototype._streamChatModelEvents.apply(this, given as never) as never;
  }

  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    const calls = makeCallCollector();
    let text = "";
    let whole = new AIMessageChunk("");
    for await (const { message } of this._streamResponseChunks(messages, options, runManager)) {
      const chunk = message as AIMessageChunk;
      const delta = deltaOf(chunk);
      if (delta?.type === "text") text += delta.text;
      else if (delta?.type === "retract") text = "";
      else if (delta?.type === "call") calls.add(delta);
      else whole = whole.concat(chunk);
    }
    const { additional_kwargs, response_metadata, usage_metadata } = whole;
    const message = new AIMessage({
      ...{ content: text, additional_kwargs, response_metadata },
      tool_calls: calls.asMessage(),
      ...(usage_metadata ? { usage_metadata } : {}),
    });
    return { generations: [{ text, message, generationInfo: response_metadata }] };
  }
}

/** LangChain's chat model with our completions. */
export class ServerChatModel extends ChatOpenAI {
  readonly server: ServerCompletions;

  constructor(fields: CompletionsFields, server: ServerOptions) {
    const completions = new ServerCompletions(fields, server);
    super({ ...fields, completions });
    this.server = completions;
  }
}

async function* eachOf<Item>(batches: AsyncIterable<Item[]>): AsyncGenerator<Item, void> {
  for await (const batch of batches) yield* batch;
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Tells a server without forms in words what its answer must be. */
function withForm(wire: WireMessage[], params: object, amendments: ReadonlySet<Amendment>): WireMessage[] {
  const format = (params as { response_format?: ResponseFormat }).response_format;
  if (!format || format.type === "text" || !amendments.has("no_json_schema")) return wire;
  return withLastWords(wire, askForForm(format, []));
}
