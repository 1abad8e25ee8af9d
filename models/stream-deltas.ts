import type { Callbacks } from "@langchain/core/callbacks/manager";
import { BaseChatModel, type BindToolsInput } from "@langchain/core/language_models/chat_models";
import { type AIMessageChunk, type BaseMessage, mergeUsageMetadata, type UsageMetadata } from "@langchain/core/messages";
import { makeThoughtSplitter, type SplitPiece } from "../text/split-thoughts.ts";
import type { ModelOptions } from "../turn/model-options.ts";
import { AnthropicChatModel } from "./anthropic-chat-model.ts";
import { modelName } from "./model-name.ts";
import { type Delta, readFinish } from "./wire/delta.ts";
import { servedKey } from "./wire/dialects.ts";
import { ServerChatModel, type WithModelOptions } from "./wire/server-completions.ts";
import { deltaOf, isToken } from "./wire/to-generation.ts";
import { makeTellCallsApart } from "./wire/tell-calls-apart.ts";

export interface StreamDeltasOptions {
  signal: AbortSignal;
  /** Tools that it may call. Default: none. */
  tools?: BindToolsInput[] | undefined;
  /** Default: as the model is made. */
  modelOptions?: ModelOptions | undefined;
  /** Tracers or Studio's token stream. */
  callbacks?: Callbacks | undefined;
  /** The message id that callbacks see. Default: the model's own. */
  messageId?: string | undefined;
}

function hasHandlers(callbacks: Callbacks | undefined): boolean {
  return callbacks !== undefined && (Array.isArray(callbacks) ? callbacks : callbacks.handlers).length > 0;
}

/** Gives chunks this id before callbacks see them. */
function withMessageId(model: BaseChatModel, messageId: string): BaseChatModel {
  const streamResponseChunks: BaseChatModel["_streamResponseChunks"] = async function* (prompt, options, runManager) {
    for await (const chunk of model._streamResponseChunks(prompt, options)) {
      chunk.message._updateId(messageId);
      yield chunk;
      if (isToken(chunk.message as AIMessageChunk))
        await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  };
  return Object.create(model, { _streamResponseChunks: { value: streamResponseChunks } }) as BaseChatModel;
}

/**
 * Streams the deltas of one model call, those that come at once together. Models of ours without tracers bypass LangChain's `stream`, which
 * joins all chunks and takes a third longer.
 */
export async function* streamDeltas(
  model: BaseChatModel,
  prompt: BaseMessage[],
  { signal, tools = [], modelOptions, callbacks, messageId }: StreamDeltasOptions,
): AsyncGenerator<Delta[], void> {
  const options: { signal: AbortSignal } & WithModelOptions = modelOptions === undefined ? { signal } : { signal, modelOptions };
  const server = model instanceof ServerChatModel ? model.server : null;
  if (server && !hasHandlers(callbacks)) {
    yield* server.deltas(prompt, tools.length > 0 ? { ...options, tools } : options);
    return;
  }
  const streamsItself = model._streamResponseChunks !== BaseChatModel.prototype._streamResponseChunks;
  const named = streamsItself && messageId !== undefined ? withMessageId(model, messageId) : model;
  const choice = modelOptions?.tool_choice === undefined || server ? {} : { tool_choice: modelOptions.tool_choice };
  const bound = tools.length > 0 ? (named.bindTools?.(tools, choice) ?? named) : named;
  const reader = makeChunkReader(model);
  for await (const chunk of await bound.stream(prompt, callbacks === undefined ? options : { ...options, callbacks }))
    yield reader.read(chunk);
  if (!server) yield reader.close();
}

type Fields = Readonly<Record<string, unknown>>;

/** Thoughts as in ChatDeepSeek, or as parts of the content. */
function thoughtOf({ additional_kwargs: { reasoning_content: beside }, content }: AIMessageChunk): string {
  if (typeof beside === "string") return beside;
  if (typeof content === "string") return "";
  const texts = content.map((part): unknown =>
    part.type === "thinking" ? part["thinking"] : part.type === "reasoning" ? part["reasoning"] : "",
  );
  return texts.filter((text) => typeof text === "string").join("");
}

/** Providers name it differently. */
function finishWordOf({ response_metadata, additional_kwargs }: AIMessageChunk): unknown {
  const all: Fields = { ...additional_kwargs, ...response_metadata };
  return [all["finish_reason"], all["stop_reason"], all["finishReason"], all["done_reason"]].find((word) => readFinish(word) !== null);
}

/** Collects signed thoughts, which Anthropic wants back with the following calls. They come in pieces, by their place. */
function makeSignedThoughts() {
  const blocks = new Map<unknown, Record<string, unknown>>();
  return {
    add({ content }: AIMessageChunk): void {
      if (typeof content === "string") return;
      for (const { index, ...part } of content as (Fields & { index?: unknown })[]) {
        if (part["type"] !== "thinking" && part["type"] !== "redacted_thinking") continue;
        const known = blocks.get(index) ?? { type: part["type"] };
        for (const [name, value] of Object.entries(part))
          if (name !== "type" && typeof value === "string") known[name] = `${textIn(known[name])}${value}`;
        blocks.set(index, known);
      }
    },
    all: () => [...blocks.values()],
  };
}

const textIn = (value: unknown): string => (typeof value === "string" ? value : "");

function sumUsage(one: UsageMetadata | undefined, other: UsageMetadata): UsageMetadata {
  return one ? mergeUsageMetadata(one, other) : other;
}

/** Reads any LangChain model's chunks into deltas. Their token counts add up. */
function makeChunkReader(model: BaseChatModel) {
  const signed = makeSignedThoughts();
  let usage: UsageMetadata | undefined;
  const splitter = makeThoughtSplitter();
  const calls = makeTellCallsApart();
  let finish: Extract<Delta, { type: "finish" }> | null = null;
  const split = (pieces: readonly SplitPiece[]): Delta[] => pieces as Delta[];

  function callsOf({ tool_call_chunks: pieces, tool_calls: whole = [] }: AIMessageChunk): Delta[] {
    if (pieces && pieces.length > 0)
      return pieces.map(({ index, id, name, args }) => calls.add({ index, id, function: { name, arguments: args } }));
    return whole.map(({ id, name, args }) => calls.add({ id, function: { name, arguments: args } }));
  }

  return {
    read(chunk: AIMessageChunk): Delta[] {
      const known = deltaOf(chunk);
      if (known) return [known];
      const word = finishWordOf(chunk);
      const ended = readFinish(word);
      if (ended) finish ??= { type: "finish", finish: ended, word: String(word) };
      const thought = thoughtOf(chunk);
      signed.add(chunk);
      if (chunk.usage_metadata) usage = sumUsage(usage, chunk.usage_metadata);
      const read: Delta[] = [
        ...(thought === "" ? [] : [{ type: "thought" as const, text: thought }]),
        ...split(splitter.push(chunk.text)),
        ...callsOf(chunk),
      ];
      return read.length > 0 ? read : [{ type: "alive" }];
    },
    close(): Delta[] {
      const thoughts = signed.all();
      const from = model instanceof AnthropicChatModel ? servedKey(model.served) : modelName(model);
      return [
        ...split(splitter.end(finish?.finish === "whole")),
        ...(usage ? [{ type: "usage" as const, usage }] : []),
        ...(thoughts.length > 0 ? [{ type: "echo" as const, echo: { from, message: { thinking_blocks: thoughts } } }] : []),
        ...(finish ? [finish] : []),
      ];
    },
  };
}
