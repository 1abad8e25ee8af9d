import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { messagesStateReducer } from "@langchain/langgraph";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { ConversationState, WindowMessage } from "../../turn/state.ts";
import { answerUpdate } from "../../nodes/answer-update.ts";
import { sampleWindow } from "../support/samples/sample-window.ts";

const asMessage = ({ id, role, content }: WindowMessage): BaseMessage =>
  role === "user" ? new HumanMessage({ id, content }) : new AIMessage({ id, content });

/** The ids of a thread's messages after a turn that found this thread and this window. */
function idsAfterTurn(thread: BaseMessage[], window: WindowMessage[], answer = "Hi."): (string | undefined)[] {
  const state = { messages: thread, recentMessages: window, currentMessageId: "asked", message: "Hello!" };
  const { messages } = answerUpdate(state as unknown as ConversationState, "answered", answer) as { messages: BaseMessage[] };
  return messagesStateReducer(thread, messages).map(({ id }) => id);
}

describe("the messages of a thread after a turn", () => {
  const stored = sampleWindow(8);
  const ids = stored.map(({ id }) => id);
  const asked = new HumanMessage({ id: "of the caller", content: "Hello!" });

  test("are the question and the answer where there was nothing, under the ids they are stored with", () => {
    expect(idsAfterTurn([], stored)).toEqual(["asked", "answered"]);
  });

  test("have no answer of which not a word was said", () => {
    expect(idsAfterTurn([], [], "")).toEqual(["asked"]);
  });

  test("have the question once, also when the caller has put it there", () => {
    expect(idsAfterTurn([...stored.map(asMessage), asked], stored)).toEqual([...ids, "asked", "answered"]);
  });

  test("keep what is older than the window", () => {
    expect(idsAfterTurn([...stored.map(asMessage), asked], stored.slice(4))).toEqual([...ids, "asked", "answered"]);
  });

  test("get the turns that the thread has missed", () => {
    expect(idsAfterTurn([...stored.slice(0, 4).map(asMessage), asked], stored)).toEqual([...ids, "asked", "answered"]);
  });

  test("lose what is no longer stored", () => {
    const window = stored.filter((_message, index) => index !== 2 && index !== 3);
    expect(idsAfterTurn(stored.map(asMessage), window)).toEqual([...window.map(({ id }) => id), "asked", "answered"]);
  });

  test("are those of the window where the thread has been about something else", () => {
    const other = [new HumanMessage({ id: "other", content: "x" }), asked];
    expect(idsAfterTurn(other, stored)).toEqual([...ids, "asked", "answered"]);
  });

  test("end with the window and the turn, in order and without doubles, whatever the thread held", () => {
    const anyThread = fc.shuffledSubarray([...stored.map(asMessage), asked, new AIMessage({ id: "stray", content: "x" })]);
    fc.assert(
      fc.property(anyThread, fc.integer({ min: 0, max: 8 }), (thread, from) => {
        const window = stored.slice(from);
        const after = idsAfterTurn(thread, window);
        expect(new Set(after).size).toBe(after.length);
        expect(after.slice(-2)).toEqual(["asked", "answered"]);
        const shared = thread.map(({ id }) => id).find((id) => window.some((message) => message.id === id));
        const rest = window.slice(window.findIndex(({ id }) => id === shared)).map(({ id }) => id);
        if (shared !== undefined) expect(after.slice(-2 - rest.length, -2)).toEqual(rest);
      }),
    );
  });
});
