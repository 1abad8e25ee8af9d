import { beforeEach, expect, test } from "@jest/globals";
import { askingClient, callOf, ordered } from "../support/services/asking-agent.ts";
import { describePage } from "../web/tested-page.ts";
import { startReactService, useReactChats } from "./react-chats.ts";

describePage("useStream of @langchain/langgraph-sdk/react in a browser", startReactService, (on) => {
  const open = useReactChats(on);
  let asking: ReturnType<typeof askingClient>;
  beforeEach(async () => {
    ordered.length = 0;
    asking = askingClient(on);
    await asking.makeAgent("asks");
  });

  test("shows a repeated answer and an edited question beside the earlier ones, with all that follows each", async () => {
    const talk = await open("langgraph");
    const say = async (answer: string, what: "say" | "again" | "edit", ...given: unknown[]): Promise<string[]> => {
      on.model.answer({ tokens: [answer] });
      await talk.do(what, ...given);
      return talk.lines(`ai: ${answer}`);
    };
    const turned = async (place: number, until: string): Promise<string[]> => {
      await talk.do("turn", place);
      return talk.lines(until);
    };
    await say("ONE", "say", "one");
    await say("TWO", "say", "two");
    expect(await say("other", "again")).toEqual(["human: one", "ai: ONE", "human: two", "ai: other (2 of 2)"]);
    expect(await turned(3, "TWO (1 of 2)")).toEqual(["human: one", "ai: ONE", "human: two", "ai: TWO (1 of 2)"]);
    expect(await turned(3, "other (2 of 2)")).toEqual(["human: one", "ai: ONE", "human: two", "ai: other (2 of 2)"]);

    expect(await say("ZWEI", "edit", 2, "zwei")).toEqual(["human: one", "ai: ONE", "human: zwei (2 of 2)", "ai: ZWEI"]);
    expect(await turned(2, "two (1 of 2)")).toEqual(["human: one", "ai: ONE", "human: two (1 of 2)", "ai: other (2 of 2)"]);
    expect(await turned(2, "zwei (2 of 2)")).toEqual(["human: one", "ai: ONE", "human: zwei (2 of 2)", "ai: ZWEI"]);
    await say("EINS", "edit", 0, "eins");
    expect(await turned(0, "one (1 of 2)")).toEqual(["human: one (1 of 2)", "ai: ONE", "human: zwei (2 of 2)", "ai: ZWEI"]);

    // What is said while an earlier branch is shown goes on there.
    expect((await say("DREI", "say", "drei")).at(-1)).toBe("ai: DREI");
    expect((await talk.stored()).map(({ content }) => content)).toEqual(["one", "ONE", "zwei", "ZWEI", "drei", "DREI"]);
    await talk.page.reload();
    expect(await talk.lines("DREI")).toEqual([
      ...["human: one (2 of 2)", "ai: ONE", "human: zwei (2 of 2)", "ai: ZWEI", "human: drei", "ai: DREI"],
    ]);
  });

  test("shows the calls of an agent and their outputs, both while the agent answers and after the page is loaded again", async () => {
    await asking.makeAgent("looks", { permissions: [{ tool: "look_up", action: "allow" }] });
    asking.follow([callOf("look_up", { item: "tea" })], "Twelve.");
    const talk = await open("langgraph", { agent: "looks" });
    const shown = ["human: How much tea?", 'ai: look_up({"item":"tea"})', "tool: 12 left", "ai: Twelve."];
    await talk.do("say", "How much tea?");
    expect(await talk.lines("Twelve.")).toEqual(shown);
    await talk.page.reload();
    expect(await talk.lines("Twelve.")).toEqual(shown);

    asking.follow([callOf("look_up", { item: "coffee" })], "Nine.");
    await talk.do("again");
    expect(await talk.lines("Nine.")).toEqual([
      ...["human: How much tea?", 'ai: look_up({"item":"coffee"}) (2 of 2)', "tool: 12 left", "ai: Nine."],
    ]);
    await talk.do("turn", 1);
    expect(await talk.lines("Twelve.")).toEqual([
      ...["human: How much tea?", 'ai: look_up({"item":"tea"}) (1 of 2)', "tool: 12 left", "ai: Twelve."],
    ]);
  });

  test("replaces a question whose turn waits for its user by another question", async () => {
    asking.follow([callOf("order", { item: "tea" })], "Ordered.");
    const talk = await open("langgraph", { agent: "asks" });
    await talk.do("say", "Order tea.");
    await talk.asked();
    await talk.lines(1);
    asking.follow("Hello.");
    await talk.do("edit", 0, "Say hello.");
    expect(await talk.lines("Hello.")).toEqual(["human: Say hello. (2 of 2)", "ai: Hello."]);
    expect(await talk.page.locator("#asks").textContent()).toBe("");
    await talk.do("turn", 0);
    await talk.seen("human: Order tea. (1 of 2)");

    asking.follow([callOf("order", { item: "coffee" })], "Ordered.");
    await talk.do("edit", 0, "Order coffee.");
    await talk.asked();
    await talk.lines(1);
    await talk.seen("human: Order coffee. (3 of 3)");
    asking.follow("Nothing is left.");
    await talk.do("again");
    expect(await talk.lines("Nothing is left.")).toEqual(["human: Order coffee. (4 of 4)", "ai: Nothing is left."]);
    expect(ordered).toEqual([]);
  });

  test("goes on without a mode that is not served, and says so", async () => {
    on.model.answer({ tokens: ["Hello."] });
    const talk = await open("langgraph");
    await talk.do("say", "Hi", ["values", "lifecycle"]);
    expect(await talk.lines("Hello.")).toEqual(["human: Hi", "ai: Hello."]);
    expect(await talk.page.locator("#notices").textContent()).toBe("stream_mode_missing");
  });
});
