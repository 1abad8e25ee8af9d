import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";

/** A chat model in process and without latency: answers with the text it was told, in one piece, and keeps the last prompt it was given. */
export class ScriptedChatModel extends BaseChatModel {
  answer = "";
  lastPrompt: BaseMessage[] = [];

  constructor() {
    super({});
  }

  /** What gpt-4o-mini takes: nothing of a prompt is cut unless a benchmark asks for a smaller budget. */
  override get profile() {
    return { maxInputTokens: 128_000 };
  }

  override _llmType(): string {
    return "scripted";
  }

  override async _generate(prompt: BaseMessage[]): Promise<ChatResult> {
    this.lastPrompt = prompt;
    const message = new AIMessage({ content: this.answer, response_metadata: { finish_reason: "stop" } });
    return { generations: [{ text: this.answer, message }] };
  }

  override async *_streamResponseChunks(prompt: BaseMessage[]): AsyncGenerator<ChatGenerationChunk> {
    this.lastPrompt = prompt;
    yield new ChatGenerationChunk({
      text: this.answer,
      message: new AIMessageChunk(this.answer),
      generationInfo: { finish_reason: "stop" },
    });
  }
}
