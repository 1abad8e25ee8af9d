import { setTimeout as sleep } from "node:timers/promises";
import type { BaseLanguageModelCallOptions } from "@langchain/core/language_models/base";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult, type LLMResult } from "@langchain/core/outputs";
import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { streamAnswer } from "../../models/stream-answer.ts";
import { streamDeltas } from "../../models/stream-deltas.ts";
import type { Delta } from "../../models/wire/delta.ts";
import { PATIENT } from "../support/services/use-model-server.ts";

const PROMPT = [new HumanMessage("Hello!")];
const USAGE = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
/** Assigned, not passed: the type parameter of a message without tools makes it undefined. */
const WITH_USAGE = { usage_metadata: USAGE };

/** A chat model of somebody else's, which ignores its signal. */
class ScriptedModel extends BaseChatModel<BaseLanguageModelCallOptions> {
  readonly script: () => AsyncGenerator<ChatGenerationChunk>;
  constructor(script: () => AsyncGenerator<ChatGenerationChunk>) {
    super({});
    this.script = script;
  }
  override _llmType(): string {
    return "scripted";
  }
  override _generate(): Promise<ChatResult> {
    throw new Error("not implemented: this model only streams");
  }
  override _streamResponseChunks(): AsyncGenerator<ChatGenerationChunk> {
    return this.script();
  }
}

/** A chat model that does not stream at all. */
class WholeAnswerModel extends BaseChatModel<BaseLanguageModelCallOptions> {
  override _llmType(): string {
    return "whole";
  }
  override async _generate(): Promise<ChatResult> {
    const message = Object.assign(new AIMessage({ content: "whole", response_metadata: { finish_reason: "stop" } }), WITH_USAGE);
    return { generations: [{ text: "whole", message }] };
  }
}

const token = (text: string): ChatGenerationChunk => new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });

async function* twoTokens(): AsyncGenerator<ChatGenerationChunk> {
  yield token("one ");
  yield token("two");
  const message = Object.assign(new AIMessageChunk(""), WITH_USAGE);
  yield new ChatGenerationChunk({ text: "", message, generationInfo: { finish_reason: "stop" } });
}

async function collect(batches: AsyncGenerator<Delta[], void>) {
  const seen = { texts: [] as string[], usage: undefined as unknown, finishReason: undefined as unknown };
  for (const delta of (await Array.fromAsync(batches)).flat()) {
    if (delta.type === "text") seen.texts.push(delta.text);
    else if (delta.type === "usage") seen.usage = delta.usage;
    else if (delta.type === "finish") seen.finishReason = delta.word;
  }
  return seen;
}

describe("streamDeltas", () => {
  const { signal } = new AbortController();

  test("gives the same pieces whether or not somebody listens to the call", async () => {
    const heard: string[] = [];
    const handleLLMEnd = ({ generations }: LLMResult) => void heard.push(generations[0]?.[0]?.text ?? "");
    const callbacks = [{ awaitHandlers: true, handleLLMEnd }];
    const expected = { texts: ["one ", "two"], usage: USAGE, finishReason: "stop" };
    expect(await collect(streamDeltas(new ScriptedModel(twoTokens), PROMPT, { signal, callbacks }))).toEqual(expected);
    expect(await collect(streamDeltas(new ScriptedModel(twoTokens), PROMPT, { signal }))).toEqual(expected);
    expect(heard).toEqual(["one two"]);
  });

  test("gives the pieces the id it is told to before a listener hears of them, whatever id the model gave them", async () => {
    const heard: unknown[] = [];
    const callbacks = [
      {
        awaitHandlers: true,
        handleLLMNewToken: (...told: unknown[]) => void heard.push((told[5] as { chunk: ChatGenerationChunk }).chunk.message.id),
        handleLLMEnd: ({ generations }: LLMResult) => void heard.push((generations[0]?.[0] as ChatGenerationChunk).message.id),
      },
    ];
    const model = new ScriptedModel(async function* () {
      yield new ChatGenerationChunk({ text: "one", message: new AIMessageChunk({ content: "one", id: "chatcmpl-1" }) });
      yield* twoTokens();
    });
    await collect(streamDeltas(model, PROMPT, { signal, callbacks, messageId: "answer" }));
    expect(heard).toEqual(Array(5).fill("answer"));
  });

  test("gives the whole answer in one piece of a model that cannot stream", async () => {
    const seen = await collect(streamDeltas(new WholeAnswerModel({}), PROMPT, { signal }));
    expect(seen).toEqual({ texts: ["whole"], usage: USAGE, finishReason: "stop" });
  });
});

describe("streamAnswer with a model that ignores the signal", () => {
  const request = { prompt: PROMPT, timeouts: PATIENT, onToken: () => undefined };

  test("ends at the first-token timeout all the same", async () => {
    const model = new ScriptedModel(async function* () {
      await sleep(60_000, undefined, { ref: false });
      yield token("late");
    });
    const answer = await streamAnswer({ ...request, model, timeouts: { ...PATIENT, firstTokenMs: 100 } });
    expect(answer).toMatchObject({ text: "", error: { code: "model_first_token_timeout" } });
  });

  test("ends when the turn is cancelled, and keeps what was said until then", async () => {
    const reason = new AppError("turn_cancelled", "stopped");
    const cancellation = new AbortController();
    let stopped = false;
    const model = new ScriptedModel(async function* () {
      try {
        for (;;) {
          yield token("on and ");
          await sleep(10);
        }
      } finally {
        stopped = true;
      }
    });
    let tokens = 0;
    const onToken = (): void => {
      if (++tokens === 3) cancellation.abort(reason);
    };
    const answer = await streamAnswer({ ...request, model, signal: cancellation.signal, onToken });
    expect(answer).toMatchObject({ text: "on and on and on and ", error: reason });
    await sleep(50);
    expect(stopped).toBe(true);
    expect(tokens).toBe(3);
  });
});
