import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { messagesStateReducer } from "@langchain/langgraph";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { promptLimitNotice } from "../../prompt/turn-prompt.ts";
import { answerUpdate } from "../../nodes/answer-update.ts";
import type { ConversationState, WindowMessage } from "../../turn/state.ts";
import { sampleWindow } from "../support/samples/sample-window.ts";

const asMessage = ({ id, role, content }: WindowMessage): BaseMessage =>
  role === "user" ? new HumanMessage({ id, content }) : new AIMessage({ id, content });
const idsOf = (messages: { id?: string | undefined }[]) => messages.map(({ id }) => id);

/** The ids of a thread's messages after a turn that found this thread and this window. */
function idsAfterTurn(thread: BaseMessage[], window: WindowMessage[], answer = "Hi."): (string | undefined)[] {
  const state = { messages: thread, recentMessages: window, currentMessageId: "asked", message: "Hello!" };
  const { messages } = answerUpdate(state as unknown as ConversationState, "answered", answer) as { messages: BaseMessage[] };
  return idsOf(messagesStateReducer(thread, messages));
}

describe("the messages of a thread, after a turn,", () => {
  const stored = sampleWindow(8);
  const all = stored.map(asMessage);
  const asked = new HumanMessage({ id: "of the caller", content: "Hello!" });
  const other = new HumanMessage({ id: "other", content: "x" });

  test.each<[string, BaseMessage[], WindowMessage[], WindowMessage[]]>([
    ["are the question and the answer of an empty thread, under the ids they are stored with", [], stored, []],
    ["have the question once, even when the caller has put it there", [...all, asked], stored, stored],
    ["have what is older than the window", [...all, asked], stored.slice(4), stored],
    ["have the turns that the thread has missed", [...all.slice(0, 4), asked], stored, stored],
    ["have nothing that is no longer stored", all, stored.toSpliced(2, 2), stored.toSpliced(2, 2)],
    ["are the window's messages when the thread was about something else", [other, asked], stored, stored],
  ])("%s", (_what, thread, window, before) => expect(idsAfterTurn(thread, window)).toEqual([...idsOf(before), "asked", "answered"]));

  test("have no answer when the model said not a word", () => expect(idsAfterTurn([], [], "")).toEqual(["asked"]));

  test("end with the window and the turn, in order and without doubles, for any thread before", () => {
    const anyThread = fc.shuffledSubarray([...all, asked, other]);
    fc.assert(
      fc.property(anyThread, fc.integer({ min: 0, max: 8 }), (thread, from) => {
        const window = stored.slice(from);
        const after = idsAfterTurn(thread, window);
        expect(new Set(after).size).toBe(after.length);
        expect(after.slice(-2)).toEqual(["asked", "answered"]);
        const shared = idsOf(thread).find((id) => idsOf(window).includes(id));
        const rest = idsOf(window.slice(idsOf(window).indexOf(shared)));
        if (shared !== undefined) expect(after.slice(-2 - rest.length, -2)).toEqual(rest);
      }),
    );
  });
});

const OLDEST = "the oldest 3 recent messages are left out";

test.each<[string, { messages: number; shortened: number; windowIsWhole: boolean }, string | null]>([
  ["the prompt holds everything as it is", { messages: 0, shortened: 0, windowIsWhole: true }, null],
  ["one message has no room", { messages: 1, shortened: 0, windowIsWhole: true }, "the oldest recent message is left out"],
  ["messages have no room", { messages: 3, shortened: 0, windowIsWhole: true }, OLDEST],
  ["older messages were not even read", { messages: 0, shortened: 0, windowIsWhole: false }, "older messages are left out"],
  ["older ones were not read and others have no room", { messages: 3, shortened: 0, windowIsWhole: false }, "older messages are left out"],
  ["one message is shortened", { messages: 0, shortened: 1, windowIsWhole: true }, "1 long message is shortened"],
  [
    "some messages have no room and others are shortened",
    { messages: 3, shortened: 2, windowIsWhole: true },
    `${OLDEST}, and 2 long messages are shortened`,
  ],
])("the notice of the prompt's limit says what was cut when %s", (_name, { messages, shortened, windowIsWhole }, says) => {
  const notice = promptLimitNotice({ leftOut: { messages, uncovered: 0 }, shortened }, { windowIsWhole, tokenBudget: 4_000 });
  const message = `The prompt is at its limit of 4000 tokens: ${says}. Nothing is lost in the store.`;
  expect(notice).toEqual(says && { code: "context_trimmed", message });
});
