import type { Callbacks } from "@langchain/core/callbacks/manager";
import { BaseChatModel, type BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage, UsageMetadata } from "@langchain/core/messages";
import type { ToolCallChunk } from "@langchain/core/messages/tool";
import { v7 as uuidv7 } from "uuid";
import type { ModelOptions } from "../turn/model-options.ts";
import type { WithModelOptions } from "./streamed-completions.ts";

/** A chunk of a streamed answer. */
export interface AnswerChunk {
  text: string;
  /** Reasoning beside the answer, where the server sends it. */
  thought?: string | undefined;
  toolCalls?: readonly ToolCallChunk[] | undefined;
  usage: UsageMetadata | undefined;
  /** Set by the last chunk. */
  finishReason: unknown;
}

/** A call of a tool, as far as the model asked for it. `arguments` is the text it sent. */
export interface AskedCall {
  id: string;
  name: string;
  arguments: string;
}

export interface StreamChunksOptions {
  signal: AbortSignal;
  /** What the model may call. Default: nothing. */
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

/** The same model, whose chunks have this id before callbacks see them. */
function withMessageId(model: BaseChatModel, messageId: string): BaseChatModel {
  const streamResponseChunks: BaseChatModel["_streamResponseChunks"] = async function* (prompt, options, runManager) {
    for await (const chunk of model._streamResponseChunks(prompt, options)) {
      chunk.message._updateId(messageId);
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  };
  return Object.create(model, { _streamResponseChunks: { value: streamResponseChunks } }) as BaseChatModel;
}

function thoughtOf({ additional_kwargs: { reasoning_content: thought } }: AIMessageChunk): string | undefined {
  return typeof thought === "string" && thought !== "" ? thought : undefined;
}

/**
 * Streams the chunks of one model call. Without callbacks it calls `_streamResponseChunks`: `stream` also joins all chunks, and takes a
 * third longer.
 */
export async function* streamChunks(
  model: BaseChatModel,
  prompt: BaseMessage[],
  { signal, tools = [], modelOptions, callbacks, messageId }: StreamChunksOptions,
): AsyncGenerator<AnswerChunk, void> {
  const options: { signal: AbortSignal } & WithModelOptions = modelOptions === undefined ? { signal } : { signal, modelOptions };
  const streamsItself = model._streamResponseChunks !== BaseChatModel.prototype._streamResponseChunks;
  if (!streamsItself || tools.length > 0 || hasHandlers(callbacks)) {
    const named = streamsItself && messageId !== undefined ? withMessageId(model, messageId) : model;
    const bound = tools.length > 0 ? (named.bindTools?.(tools) ?? named) : named;
    for await (const message of await bound.stream(prompt, callbacks === undefined ? options : { ...options, callbacks })) {
      yield {
        text: message.text,
        thought: thoughtOf(message),
        toolCalls: message.tool_call_chunks,
        usage: message.usage_metadata,
        finishReason: message.response_metadata["finish_reason"],
      };
    }
    return;
  }
  for await (const { text, message, generationInfo } of model._streamResponseChunks(prompt, options)) {
    const chunk = message as AIMessageChunk;
    yield { text, thought: thoughtOf(chunk), usage: chunk.usage_metadata, finishReason: generationInfo?.["finish_reason"] };
  }
}

/** Joins the pieces of calls, which come side by side, numbered by `index`. */
export function makeCallCollector() {
  const calls = new Map<number, AskedCall>();
  return {
    add: ({ index = calls.size, id, name, args }: ToolCallChunk): void => {
      const call = calls.get(index) ?? { id: "", name: "", arguments: "" };
      calls.set(index, { id: id || call.id, name: call.name + (name ?? ""), arguments: call.arguments + (args ?? "") });
    },
    /** Some servers send calls without an id, or give several the same one. */
    collected(): AskedCall[] {
      const ids = new Set([""]);
      return [...calls.values()].map((call) => {
        const id = ids.has(call.id) ? `call_${uuidv7()}` : call.id;
        ids.add(id);
        return { ...call, id };
      });
    },
  };
}
