import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { offlineAnswer } from "./offline-answer.ts";

/** A word with the space behind it, or one Chinese character: what the offline model streams at a time. */
const TOKEN = /\p{Script=Han}|[^\p{Script=Han}\s]+\s*|\s+/gu;

/** A chat model without a model: deterministic, in process, answers only from its prompt and says so. */
export class OfflineChatModel extends BaseChatModel {
  constructor() {
    super({});
  }

  override _llmType(): string {
    return "offline";
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const text = offlineAnswer(messages);
    return { generations: [{ text, message: new AIMessage({ content: text, response_metadata: { finish_reason: "stop" } }) }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const [text] of offlineAnswer(messages).matchAll(TOKEN)) {
      yield new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      await runManager?.handleLLMNewToken(text);
    }
    yield new ChatGenerationChunk({ text: "", message: new AIMessageChunk(""), generationInfo: { finish_reason: "stop" } });
  }
}
