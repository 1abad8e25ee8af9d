import { describe, expect, test, beforeEach } from "@jest/globals";
import fc from "fast-check";
import { classifyExchange } from "../../../memory/episodes/classify-exchange.ts";
import { anyText } from "../../support/samples/any-text.ts";
import { v7 as uuidv7 } from "uuid";
import { makeTurnStore } from "../../../stores/postgres/turns/turn-store.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { completeTurn, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";

describe("classifyExchange", () => {
  test("takes an answer to nothing for context, unless it is small talk, and a message without an answer as it is", () => {
    expect(classifyExchange("", "The zebra tour starts at nine.")).toEqual({ episode_type: "context", importance: 0.5 });
    expect(classifyExchange("", "You are welcome.").importance).toBeLessThan(0.3);
    expect(classifyExchange("I love hiking in the rain.", "")).toEqual({ episode_type: "preference", importance: 0.8 });
  });

  test("gives each kind its importance", () => {
    const importanceOf = (message: string) => classifyExchange(message, "OK.").importance;
    expect(["I love hiking.", "我决定搬去杭州", "I passed the exam!", "I live in Berlin."].map(importanceOf)).toEqual([0.8, 0.9, 0.6, 0.5]);
  });

  test.each(["thanks", "ok great", "谢谢"])("%j is small talk", (message) =>
    expect(classifyExchange(message, "You are welcome! I love to help.")).toEqual({ episode_type: "context", importance: 0.1 }),
  );

  test.each([
    ["Remember that I like oat milk.", "preference", 0.95],
    ["Please remember: my locker is 42.", "context", 0.65],
    ["Don't forget, we decided on Thursday.", "decision", 1],
    ["记住，我不吃牛肉", "preference", 0.95],
    ["以后请用中文回答", "preference", 0.95],
    ["From now on I eat no sugar.", "context", 0.65],
    ["别忘了我们决定周四出发", "decision", 1],
  ])("%j is asked to be remembered and counts more", (message, episode_type, importance) =>
    expect(classifyExchange(message, "OK.")).toEqual({ episode_type, importance }),
  );

  test("is not asked to remember by a question about remembering", () => {
    for (const message of ["Do you remember my name?", "Do you still remember that trip?", "你还记得我的名字吗？"])
      expect(classifyExchange(message, "Yes.").importance).toBe(0.5);
  });

  test("sees what the assistant has done for the user, not its courtesies", () => {
    expect(classifyExchange("The table for two on Friday", "I've booked it for seven.").episode_type).toBe("decision");
    expect(classifyExchange("周五两位", "已经为您预订了七点的位子。").episode_type).toBe("decision");
    expect(classifyExchange("My sister is a nurse.", "I love that! I would be happy to help.").episode_type).toBe("context");
  });

  test("property: gives one of four kinds and an importance from 0 to 1 for any texts", () => {
    fc.assert(
      fc.property(anyText, anyText, (message, answer) => {
        const { episode_type, importance } = classifyExchange(message, answer);
        expect(["preference", "decision", "context", "outcome"]).toContain(episode_type);
        expect(importance > 0 && importance <= 1).toBe(true);
      }),
    );
  });
});

describe("indexing a conversation with a model that babbles", () => {
  const memory = useTestEpisodicMemory();
  beforeEach(() => void memory.embedder.passages.splice(0));

  test("leaves an answer out that has nothing of its question or was given before, in this step or an earlier one", async () => {
    const owner = { tenantId: "tenant", userId: uuidv7(), sessionId: "babble" };
    const store = makeTurnStore(memory.database);
    const say = async (message: string, content: string): Promise<string> => {
      const turn = sampleTurn({ ...owner, turnId: uuidv7(), message });
      const { conversationId } = await completeTurn(store, turn, sampleAnswer({ content }));
      return conversationId;
    };
    const rex = "The capital of Lisbon is Rex.";
    await say("I live in Lisbon.", rex);
    await say("Where do I live?", rex);
    const conversation = { ...owner, conversationId: await say("What is my name?", "I am a helpful assistant.") };
    await memory.indexAll(conversation);
    for (const [asked, answer] of [
      ["My dog is called Rex.", rex],
      ["What is the capital of Portugal?", "Lisbon."],
      ["我对花生过敏。", "我是一个乐于助人的助手。"],
      ["我住在哪里？", "你住在里斯本。"],
    ] as const)
      await say(asked, answer);
    await memory.indexAll(conversation);
    expect(memory.embedder.passages).toEqual([
      [`I live in Lisbon.\n${rex}`, "Where do I live?", "What is my name?"],
      ["My dog is called Rex.", "What is the capital of Portugal?\nLisbon.", "我对花生过敏。", "我住在哪里？\n你住在里斯本。"],
    ]);
  });

  test("keeps an imported answer without a word of what it answers, as people talk so, and leaves a repeated one out", async () => {
    await memory.remember(exchanges(["How was your weekend?", "We hiked near Sintra."], ["Any news?", "We hiked near Sintra."]));
    expect(memory.embedder.passages).toEqual([["How was your weekend?\nWe hiked near Sintra.", "Any news?"]]);
  });
});
