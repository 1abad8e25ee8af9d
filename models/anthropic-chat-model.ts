import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BaseChatModelParams,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessage, type AIMessageChunk, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { askForForm } from "./wire/answer-form.ts";
import type { Amendment } from "./wire/amendments.ts";
import { type ServedModel, servedKey } from "./wire/dialects.ts";
import { type Gateway, serverName } from "./wire/server-address.ts";
import type { WithModelOptions } from "./wire/server-completions.ts";
import { toWireMessages } from "./wire/to-wire-messages.ts";
import { shapeMessages, withLastWords } from "./wire/shape-messages.ts";
import type { WireMessage } from "./wire/wire-message.ts";

export const ANTHROPIC_URL = "https://api.anthropic.com";

export interface AnthropicOptions extends Gateway {
  model: string;
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  /** Anthropic's protocol needs a bound of the answer. */
  maxTokens: number;
  temperature?: number | undefined;
}

type CallOptions = BaseChatModelCallOptions & WithModelOptions & { tools?: BindToolsInput[] };

/** Anthropic's form for ids of calls. */
const PLAIN_ID = /^[\w-]{1,64}$/;
/** Newer models take no beginning of an answer. */
const AMENDMENTS: readonly Amendment[] = ["user_last"];

/** A model behind Anthropic's own protocol. The first call loads LangChain's model. Signed thoughts go back unchanged. */
export class AnthropicChatModel extends BaseChatModel<CallOptions> {
  readonly model: string;
  readonly maxTokens: number;
  /** The author of thoughts, who alone gets them back. */
  readonly served: ServedModel;
  readonly #options: AnthropicOptions;

  constructor({ model, maxTokens, ...options }: AnthropicOptions & BaseChatModelParams) {
    super({});
    this.model = model;
    this.maxTokens = maxTokens;
    this.#options = { model, maxTokens, ...options };
    this.served = { server: serverName(options.baseUrl ?? ANTHROPIC_URL), model };
  }

  override _llmType(): string {
    return "anthropic";
  }

  override bindTools(tools: BindToolsInput[], options?: Partial<CallOptions>) {
    return this.withConfig({ ...options, tools });
  }

  async #load({ temperature, top_p: topP, max_tokens: asked }: NonNullable<CallOptions["modelOptions"]>) {
    const { ChatAnthropic } = await import("@langchain/anthropic");
    const { model, apiKey = "none", baseUrl = ANTHROPIC_URL, headers, extraBody, maxTokens } = this.#options;
    const warmth = temperature ?? this.#options.temperature;
    return new ChatAnthropic({
      ...{ model, apiKey, anthropicApiUrl: baseUrl, maxRetries: 0, maxTokens: Math.min(asked ?? Infinity, maxTokens) },
      clientOptions: { defaultHeaders: { ...headers }, logLevel: "off" },
      ...(extraBody ? { invocationKwargs: extraBody } : {}),
      ...(warmth === undefined ? {} : { temperature: warmth }),
      ...(topP === undefined ? {} : { topP }),
    });
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    { signal, tools, modelOptions = {} }: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const model = await this.#load(modelOptions);
    const { stop, tool_choice: choice, response_format: form } = modelOptions;
    const sent = toWireMessages(messages, servedKey(this.served));
    const wire = form && form.type !== "text" ? withLastWords(sent, askForForm(form, [])) : sent;
    const hasOddIds = wire.some(({ tool_calls = [] }) => tool_calls.some(({ id }) => !PLAIN_ID.test(id)));
    const shaped = shapeMessages(wire, new Set([...AMENDMENTS, ...(hasOddIds ? ["short_ids" as const] : [])]));
    const options = {
      ...(signal ? { signal } : {}),
      ...(tools ? { tools: model.formatStructuredToolToAnthropic(tools) ?? [] } : {}),
      ...(tools && choice === "required" ? { tool_choice: "any" as const } : {}),
      ...(stop === undefined ? {} : { stop: [stop].flat() }),
      cache_control: { type: "ephemeral" as const }, // the beginning of the prompt stays the same from turn to turn
    };
    yield* model._streamResponseChunks(shaped.map(toLangChain), options, runManager);
  }

  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    let whole: AIMessageChunk | undefined;
    for await (const { message } of this._streamResponseChunks(messages, options, runManager))
      whole = whole?.concat(message as AIMessageChunk) ?? (message as AIMessageChunk);
    const message = whole ?? new AIMessage("");
    return { generations: [{ text: message.text, message }] };
  }
}

/** Puts signed thoughts before the text. */
function toLangChain({
  role,
  content,
  tool_calls: calls = [],
  tool_call_id: id = "",
  name,
  thinking_blocks: thoughts,
}: WireMessage): BaseMessage {
  const parts = (content ?? "") as string;
  if (role === "system" || role === "developer") return new SystemMessage(parts);
  if (role === "user") return new HumanMessage({ content: content as never });
  if (role === "tool") return new ToolMessage({ content: parts, tool_call_id: id, ...(name === undefined ? {} : { name }) });
  const text = parts === "" ? [] : [{ type: "text" as const, text: parts }];
  return new AIMessage({
    content: Array.isArray(thoughts) ? [...(thoughts as { type: "thinking" }[]), ...text] : parts,
    tool_calls: calls.map((call) => ({
      id: call.id,
      name: call.function.name,
      args: JSON.parse(call.function.arguments) as Record<string, unknown>,
    })),
  });
}
