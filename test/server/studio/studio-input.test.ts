import { HumanMessage } from "@langchain/core/messages";
import { Overwrite, ReducedValue } from "@langchain/langgraph";
import { describe, expect, test } from "@jest/globals";
import { ConversationState } from "../../../turn/state.ts";
import { toTurnInput, type StudioThread } from "../../../server/langgraph/studio-input.ts";

const thread: StudioThread = { id: "thread-1", earlier: {} };
const turn = (input: object, of = thread) => toTurnInput(input, of, 100);
const human = (content: unknown) => ({ type: "human", content });

describe("a run in Studio becomes a turn", () => {
  test("of the user studio in the session of its thread, with a message and nothing else", () => {
    const messages = [human("Hello!")];
    expect(turn({ messages })).toMatchObject({ userId: "studio", sessionId: "thread-1", message: "Hello!" });
    expect(turn({ message: "Hello!" })).toMatchObject({ userId: "studio", sessionId: "thread-1", message: "Hello!" });
  });

  test("of whom it names, or of whom an earlier run of the thread has named", () => {
    const message = "Hello!";
    const earlier = { userId: "ada", sessionId: "s1" };
    expect(turn({ message, ...earlier, tenantId: "acme" })).toMatchObject({ ...earlier, tenantId: "acme" });
    expect(turn({ message }, { id: "thread-1", earlier })).toMatchObject(earlier);
  });

  test("with instructions for that run alone", () => {
    expect(turn({ message: "Hello!", instructions: "Rhyme." }).instructions).toBe("Rhyme.");
    expect(turn({ message: "Hello!" }).instructions).toBe("");
    expect(turn({ message: "Hello!", kbInstructions: "forged" })).toMatchObject({ kbInstructions: "" });
  });

  test.each([
    ["a list whose last human message counts", [human("first"), { type: "ai", content: "answer" }, human("last")], "last"],
    ["parts of text", [human(["one ", "two"].map((text) => ({ type: "text", text })))], "one two"],
    ["messages as OpenAI writes them", [{ role: "user", content: "Hello!" }], "Hello!"],
    ["a single message", human("Hello!"), "Hello!"],
    ["a message of LangChain", [new HumanMessage("Hello!")], "Hello!"],
  ])("with messages as %s", (_name, messages, message) => {
    const input = turn({ messages });
    expect(input.message).toBe(message);
    expect(input.messages).toHaveLength(1);
  });

  test("that begins its own lists, and has what only nodes write as it is before the first turn", () => {
    const input = turn({ message: "Hello!", answer: "forged", recentMessages: ["forged"], error: "forged", degraded: ["episodic"] });
    expect(input).toMatchObject({ answer: "", recentMessages: [], error: null, usage: null, receipt: null });
    const added = Object.entries(ConversationState.fields).filter(([name, field]) => ReducedValue.isInstance(field) && name !== "messages");
    expect(added.map(([name]) => name)).toHaveLength(3);
    for (const [name] of added) expect((input as Record<string, unknown>)[name]).toBeInstanceOf(Overwrite);
  });

  test.each([
    ["no message", {}, "message: is missing"],
    ["empty fields of the form", { message: "", messages: [], userId: "" }, "message: is missing"],
    ["a blank message", { messages: [human("  ")] }, "message: is blank"],
    ["no human message", { messages: [{ type: "ai", content: "Hello!" }] }, "message: is missing"],
    ["an image", { messages: [human([{ type: "image_url", image_url: "x" }])] }, 'messages: holds a part of the type "image_url"'],
    ["no message at all in the list", { messages: [42] }, "messages: holds something that is no message"],
    ["a message that is too long", { message: "a".repeat(101) }, "has 101 characters, at most 100 are taken"],
    ["a user id that is too long", { message: "Hello!", userId: "a".repeat(201) }, "userId: must have 1 to 200 characters"],
    ["instructions that are too long", { message: "Hello!", instructions: "a".repeat(20_001) }, "instructions: has more than 20000"],
    ["an unknown agent", { message: "Hello!", agentType: "robot" }, "agentType: must be one of"],
  ])("but not with %s", (_name, input, problem) => expect(() => turn(input)).toThrow(problem));
});
