import { beforeEach, describe, expect, test } from "@jest/globals";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { askingClient, callOf, ordered } from "../support/services/asking-agent.ts";
import { waitUntil } from "../support/wait-until.ts";
import { describePage } from "../web/tested-page.ts";
import { startReactService, useReactChats } from "./react-chats.ts";

/** Each hook, as it stands in the address of the page, and how it says who has spoken. */
const HOOKS = [
  { hook: "langgraph", of: "useStream of @langchain/langgraph-sdk/react", user: "human", assistant: "ai" },
  { hook: "langchain", of: "useStream of @langchain/react, with an adapter", user: "human", assistant: "ai" },
  { hook: "ai", of: "useChat of the AI SDK", user: "user", assistant: "assistant" },
] as const;

describePage("on a page of React in a browser,", startReactService, (on) => {
  const open = useReactChats(on);
  let asking: ReturnType<typeof askingClient>;
  beforeEach(async () => {
    ordered.length = 0;
    asking = askingClient(on);
    await asking.makeAgent("asks");
  });

  describe.each(HOOKS)("$of", ({ hook, user, assistant }) => {
    test("shows an answer, and the next answer knows of it", async () => {
      on.model.answer({ tokens: ["Hi ", "there."], betweenMs: 30 });
      const talk = await open(hook);
      await talk.do("say", "My boat is Argo.");
      expect(await talk.lines(`${assistant}: Hi there.`)).toEqual([`${user}: My boat is Argo.`, `${assistant}: Hi there.`]);
      on.model.answer({ tokens: ["Argo, ", "船。"] });
      await talk.do("say", "它叫什么？");
      expect((await talk.lines("船")).slice(2)).toEqual([`${user}: 它叫什么？`, `${assistant}: Argo, 船。`]);
      expect((await talk.stored()).map(({ content }) => content)).toEqual(["My boat is Argo.", "Hi there.", "它叫什么？", "Argo, 船。"]);
    });

    test.each([
      [true, "Ordered.", 1],
      [false, "Then not.", 0],
    ])("asks its user a question, and the answer %s is followed", async (isAllowed, words, calls) => {
      asking.follow([callOf("order", { item: "tea" })], words);
      const talk = await open(hook, { agent: "asks" });
      await talk.do("say", "Order tea.");
      await talk.asked();
      await talk.do("answer", isAllowed);
      expect((await talk.lines(words)).at(-1)).toBe(`${assistant}: ${words}`);
      expect(ordered).toHaveLength(calls);
    });

    test("stops an answer, and the answer is kept as incomplete", async () => {
      on.model.answer({ tokens: ["half "], ending: "hang" });
      const talk = await open(hook);
      await talk.do("say", "Hello");
      await talk.seen("half");
      await talk.do("stop");
      await waitUntil("the part is stored", async () => (await talk.stored()).length === 2);
      expect((await talk.stored())[1]).toMatchObject({ content: "half ", completed: false });
      await talk.page.locator("#status", { hasText: "ready" }).waitFor();
    });

    if (hook === "langchain") return; // it would join a run by the newer protocol, which is not served

    test("goes on with an answer that was under way when the page was loaded again", async () => {
      const released = Promise.withResolvers<undefined>();
      on.model.answer({ tokens: ["At ", "last."], until: released.promise });
      const talk = await open(hook, { on_disconnect: "continue", resume: "1" });
      await talk.do("say", `Hello, ${assistant}.`);
      const asked = () => on.model.seen.some(({ body }) => body.messages.at(-1)?.content === `Hello, ${assistant}.`);
      await waitUntil("the model was asked", () => Promise.resolve(asked()));
      if (hook === "langgraph") await talk.page.waitForFunction("sessionStorage.length > 0"); // where it keeps its run
      await talk.page.reload();
      await talk.page.locator("#status", { hasText: /busy|submitted|streaming/ }).waitFor();
      released.resolve(undefined);
      expect((await talk.lines("At last.")).at(-1)).toBe(`${assistant}: At last.`);
    });

    test("shows an error, and answers the next message", async () => {
      on.model.answer({ status: 500 });
      const talk = await open(hook);
      await talk.do("say", "Hello");
      await talk.page.locator("#status", { hasText: /error.*model_unavailable/ }).waitFor();
      on.model.answer({ tokens: ["Again."] });
      await talk.do("say", "Are you there?");
      expect((await talk.lines("Again.")).at(-1)).toBe(`${assistant}: Again.`);
    });
  });

  describe("useChat of the AI SDK", () => {
    test("shows reasoning, tools and sources", async () => {
      await asking.makeAgent("looks", { permissions: [{ tool: "look_up", action: "allow" }] });
      asking.follow([callOf("look_up", { item: "tea" })], "Twelve.");
      const looks = await open("ai", { agent: "looks" });
      await looks.do("say", "How much tea?");
      expect(await looks.lines("Twelve.")).toEqual(["user: How much tea?", "tool: output-available", "assistant: Twelve."]);

      const knowledge = makeKnowledgeClient(on.url);
      await knowledge.put("travel", { description: "Travel rules", keywords: ["hotel"] });
      await knowledge.add("travel", { title: "Handbook", text: "The limit for a hotel night in Lisbon is 140 euros." });
      await knowledge.settled("travel");
      on.model.answer({ thoughts: ["Let me ", "look."], tokens: ["140 euros [1]."] });
      const reads = await open("ai", { kb: "travel" });
      await reads.do("say", "What is the hotel limit in Lisbon?");
      expect(await reads.lines("source")).toEqual([
        "user: What is the hotel limit in Lisbon?",
        "reasoning: Let me look.",
        "assistant: 140 euros [1].",
        "source: Handbook",
      ]);
    });

    test("shows another answer to the same message", async () => {
      on.model.answer({ tokens: ["One."] });
      const talk = await open("ai");
      await talk.do("say", "Say a number.");
      await talk.lines("One.");
      on.model.answer({ tokens: ["Two."] });
      await talk.do("again");
      expect(await talk.lines("Two.")).toEqual(["user: Say a number.", "assistant: Two."]);
      expect((await talk.stored()).map(({ content }) => content)).toEqual(["Say a number.", "Two."]);
    });
  });
});
