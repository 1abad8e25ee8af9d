import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeTurnStore } from "../../../stores/postgres/turns/turn-store.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { completeTurn, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";

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
