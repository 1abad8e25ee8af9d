import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { offlineAnswer } from "../../../models/offline/offline-answer.ts";
import { OfflineChatModel } from "../../../models/offline/offline-chat-model.ts";
import { streamAnswer } from "../../../models/stream-answer.ts";

const TIMEOUTS = { firstTokenMs: 10_000, idleMs: 10_000 };

async function streamed(text: string) {
  const tokens: string[] = [];
  const answer = await streamAnswer({
    model: new OfflineChatModel(),
    prompt: [new HumanMessage(text)],
    timeouts: TIMEOUTS,
    onToken: (token) => tokens.push(token),
  });
  return { tokens, answer };
}

describe("the offline chat model", () => {
  test.each(["Hello, who are you?", "你好，你是谁？"])("streams its answer to %p in many tokens, whole", async (message) => {
    const { tokens, answer } = await streamed(message);
    expect(answer.error).toBeNull();
    expect(answer.text).toBe(offlineAnswer([new HumanMessage(message)]));
    expect(tokens.join("")).toBe(answer.text);
    expect(tokens.length).toBeGreaterThan(10);
    expect(tokens.every((token) => token.length > 0)).toBe(true);
  });

  test("property: the tokens together are the answer, whatever is quoted in it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), async (said) => {
        const prompt = [new HumanMessage(`colour ${said}`), new HumanMessage("colour?")];
        let together = "";
        for await (const chunk of await new OfflineChatModel().stream(prompt)) together += chunk.text;
        expect(together).toBe(offlineAnswer(prompt));
      }),
      { numRuns: 50 },
    );
  });

  test("gives the same answer without streaming", async () => {
    const prompt = [new HumanMessage("Hello!")];
    expect((await new OfflineChatModel().invoke(prompt)).text).toBe(offlineAnswer(prompt));
  });

  test("counts no tokens: usage is left to be estimated", async () => {
    expect((await streamed("Hello!")).answer.usage).toBeUndefined();
  });
});
