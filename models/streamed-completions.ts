import { ChatOpenAICompletions, OpenAIClient, wrapOpenAIClientError } from "@langchain/openai";
import type { ModelOptions } from "../turn/model-options.ts";
import type { EventSourceMessage } from "eventsource-parser";
import { type PostAnswer, postForEvents } from "./post-for-events.ts";

type Completion = OpenAIClient.Chat.ChatCompletion;
type Chunk = OpenAIClient.Chat.ChatCompletionChunk;
type RequestOptions = OpenAIClient.RequestOptions;
type StreamedRequest = OpenAIClient.Chat.ChatCompletionCreateParamsStreaming;
type WholeRequest = OpenAIClient.Chat.ChatCompletionCreateParamsNonStreaming;

/** Options of a call that only the SDK obeys. */
const OPTIONS_OF_THE_SDK = ["headers", "query", "path", "timeout", "maxRetries", "idempotencyKey", "fetchOptions"] as const;

/** An option of LangChain's calls by which a model of ours gets what one turn asks for. Other models ignore it. */
export interface WithModelOptions {
  modelOptions?: ModelOptions | undefined;
}

/** LangChain's completions with half the CPU: the OpenAI SDK names the address and the headers of a stream, but does not carry it. */
export class StreamedCompletions extends ChatOpenAICompletions {
  #target: Promise<{ url: URL; headers: Record<string, string> }> | undefined;

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

  override completionWithRetry(request: StreamedRequest, options?: RequestOptions): Promise<AsyncIterable<Chunk>>;
  override completionWithRetry(request: WholeRequest, options?: RequestOptions): Promise<Completion>;
  override async completionWithRetry(
    request: StreamedRequest | WholeRequest,
    options: RequestOptions = {},
  ): Promise<AsyncIterable<Chunk> | Completion> {
    if (!request.stream) return super.completionWithRetry(request, options);
    if (OPTIONS_OF_THE_SDK.some((name) => options[name] !== undefined)) return super.completionWithRetry(request, options);
    const { url, headers } = await (this.#target ??= this.#findTarget());
    const answer = await postForEvents({ url, headers, body: JSON.stringify(request), signal: options.signal ?? undefined });
    if (answer.status < 200 || answer.status > 299) throw await toStatusError(answer);
    return readChunks(answer);
  }

  async #findTarget() {
    this._getClientOptions(undefined); // makes the client
    const { req, url } = await this.client.buildRequest({ method: "post", path: "/chat/completions", body: {} });
    return { url: new URL(url), headers: Object.fromEntries(req.headers) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The error that the SDK makes of such an answer. */
async function toStatusError({ status, headers, text }: PostAnswer): Promise<unknown> {
  const words = await text();
  const said = parsed(words) as { error?: object } | null | undefined;
  const message = said === undefined ? words : undefined;
  return wrapOpenAIClientError(OpenAIClient.APIError.generate(status, { error: said?.error ?? said }, message, headers));
}

function toChunk({ event, data }: EventSourceMessage, headers: Headers): Chunk {
  const chunk = JSON.parse(data) as Chunk & { error?: object };
  if (event === "error" || chunk.error) throw new OpenAIClient.APIError(undefined, chunk.error ?? chunk, undefined, headers);
  return chunk;
}

async function* readChunks({ headers, events }: PostAnswer): AsyncGenerator<Chunk, void> {
  for await (const event of events()) yield toChunk(event, headers);
}
