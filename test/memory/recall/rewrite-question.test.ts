import { describe, expect, test } from "@jest/globals";
import { makeRewriteQuestion } from "../../../memory/recall/rewrite-question.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import type { ModelScript } from "../../servers/model-server.ts";
import { useModelServer } from "../../support/services/use-model-server.ts";

const server = useModelServer();
const TALK = [
  { role: "user", content: "Where can we eat in Porto?" },
  { role: "assistant", content: "Cantinho is lively." },
] as const;
const UNSURE = "Where was that plumber you mentioned?";

const rewrite = (question: string, timeoutMs = 5_000, signal?: AbortSignal): Promise<string> =>
  makeRewriteQuestion(createOpenAIChatModel({ model: "memory", baseUrl: `${server.url}/v1` }), { timeoutMs })(question, TALK, signal);

describe("a question that points at something which rules do not find", () => {
  test("gets what the memory model writes behind it", async () => {
    server.answer({ tokens: ["Where does the plumber ", "Jonas work?\n"] });
    expect(await rewrite(UNSURE)).toBe(`${UNSURE} Where does the plumber Jonas work?`);
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]?.body.messages.at(-1)?.content).toContain("Cantinho is lively.");
  });

  test.each<[string, ModelScript]>([
    ["says nothing", { tokens: [""] }],
    ["writes several lines", { tokens: ["He lives\n", "in Porto."] }],
    ["writes at length", { tokens: Array.from({ length: 100 }, (_, number) => `word${number} `) }],
    ["fails", { status: 500 }],
    ["breaks off", { tokens: ["Where"], ending: "cut" }],
  ])("stays as it is when the model %s", async (_, script) => {
    server.answer(script);
    expect(await rewrite(UNSURE)).toBe(UNSURE);
  });

  test("stays as it is when the time is over, or the turn is cancelled", async () => {
    server.answer({ ending: "hang", tokens: [] });
    expect(await rewrite(UNSURE, 50)).toBe(UNSURE);
    server.answer({ ending: "hang", tokens: [] });
    expect(await rewrite(UNSURE, 60_000, AbortSignal.timeout(50))).toBe(UNSURE);
  });

  test.each(["What is the capital of Peru?", "Is it lively?", "刚才说的 Porto 在哪", "and for lunch?"])(
    "%j asks no model: rules are sure",
    async (question) => {
      expect(await rewrite(question)).toBe(question);
      expect(server.seen).toEqual([]);
    },
  );
});
