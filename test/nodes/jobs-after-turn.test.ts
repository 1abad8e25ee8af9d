import { describe, expect, test } from "@jest/globals";
import type { ConversationState } from "../../turn/state.ts";
import type { SummarySettings } from "../../memory/summary/summary-due.ts";
import { jobsAfterTurn } from "../../nodes/persist.ts";
import { sampleWindow, summaryThrough } from "../support/samples/sample-window.ts";

const SETTINGS: SummarySettings = { minMessages: 10, updateDelta: 5, historyWindow: 6 };
const JOB = { kind: "summarise", tenantId: "tenant", userId: "user", conversationId: "conversation" };

/** The state at the end of a complete turn, as far as jobs go by it. */
function stateWith(fields: Partial<ConversationState>): ConversationState {
  const owner = { tenantId: "tenant", userId: "user", conversationId: "conversation" };
  const ending = { answer: "an answer", partialAnswer: false, conversationSummary: null, recentMessages: [], windowIsWhole: true };
  return { ...owner, ...ending, ...fields } as unknown as ConversationState;
}

/** How many completed messages a conversation has before each turn of two messages that makes a summary due. */
function dueAt(lengths: number[], fields: (length: number) => Partial<ConversationState>, settings = SETTINGS): number[] {
  return lengths.filter((length) => jobsAfterTurn({ summary: settings }, stateWith(fields(length))).length > 0);
}

const UP_TO_30 = Array.from({ length: 31 }, (_, length) => length);

describe("jobsAfterTurn", () => {
  test("without a summary asks for the first when the turn makes the messages minMessages", () => {
    expect(dueAt(UP_TO_30, (length) => ({ recentMessages: sampleWindow(length) }))).toEqual(UP_TO_30.slice(8));
  });

  test("asks for it by ids alone, so that nothing that was said is in a job", () => {
    const state = stateWith({ recentMessages: sampleWindow(8), message: "a secret" });
    expect(jobsAfterTurn({ summary: SETTINGS }, state)).toEqual([JOB]);
  });

  test("with a summary asks for the next when updateDelta messages lie between the cover point and the window", () => {
    // 4 are covered: 4 + 5 + 6 = 15 messages, of which this turn brings the last two.
    expect(dueAt(UP_TO_30, (length) => ({ recentMessages: sampleWindow(length), conversationSummary: summaryThrough(4) }))).toEqual(
      UP_TO_30.slice(13),
    );
  });

  test("goes by what is behind the cover point, also when the window reaches back before it", () => {
    const conversationSummary = summaryThrough(20);
    expect(jobsAfterTurn({ summary: SETTINGS }, stateWith({ recentMessages: sampleWindow(24), conversationSummary }))).toEqual([]);
    expect(jobsAfterTurn({ summary: SETTINGS }, stateWith({ recentMessages: sampleWindow(29), conversationSummary }))).toEqual([JOB]);
  });

  test.each<[string, Partial<ConversationState>]>([
    ["incomplete", { answer: "half an ans", partialAnswer: true }],
    ["missing", { answer: "", partialAnswer: true }],
    ["empty", { answer: "", partialAnswer: false }],
  ])("counts only the user's message when the answer is %s", (_name, ending) => {
    expect(dueAt(UP_TO_30, (length) => ({ recentMessages: sampleWindow(length), ...ending }))).toEqual(UP_TO_30.slice(9));
  });

  test("waits until there is a message before the window, when minMessages is less than the window", () => {
    const settings = { ...SETTINGS, minMessages: 3 };
    expect(dueAt(UP_TO_30, (length) => ({ recentMessages: sampleWindow(length) }), settings)).toEqual(UP_TO_30.slice(5));
  });

  test("asks for nothing when summaries are switched off", () => {
    for (const conversationSummary of [null, summaryThrough(1)]) {
      expect(jobsAfterTurn({ summary: null }, stateWith({ recentMessages: sampleWindow(50), conversationSummary }))).toEqual([]);
    }
  });
});
