import { describe, expect, test } from "@jest/globals";
import { promptLimitNotice } from "../../nodes/generate-rag.ts";

const WHOLE = { windowIsWhole: true, tokenBudget: 4_000 };
const NOTHING = { leftOut: { messages: 0, uncovered: 0 }, shortened: 0 };

describe("noticeOfLimit", () => {
  test("is none when everything is in the prompt as it is", () => {
    expect(promptLimitNotice(NOTHING, WHOLE)).toBeNull();
  });

  test.each<[string, Parameters<typeof promptLimitNotice>[0], boolean, RegExp]>([
    ["messages have no room", { ...NOTHING, leftOut: { messages: 3, uncovered: 3 } }, true, /the oldest 3 recent messages are left out\./],
    ["those without room are covered", { ...NOTHING, leftOut: { messages: 3, uncovered: 0 } }, true, /the oldest 3 recent messages/],
    ["older ones were not even read", NOTHING, false, /: older messages are left out\./],
    ["older ones were not read and others have no room", { ...NOTHING, leftOut: { messages: 3, uncovered: 3 } }, false, /: older messages/],
    ["one message is shortened", { ...NOTHING, shortened: 1 }, true, /: 1 long message is shortened\./],
    ["several are shortened", { ...NOTHING, shortened: 2 }, true, /: 2 long messages are shortened\./],
    [
      "some have no room and others are shortened",
      { leftOut: { messages: 3, uncovered: 3 }, shortened: 2 },
      true,
      /the oldest 3 recent messages are left out, and 2 long messages are shortened\./,
    ],
  ])("says so when %s", (_name, prompt, windowIsWhole, says) => {
    const notice = promptLimitNotice(prompt, { ...WHOLE, windowIsWhole });
    expect(notice).toEqual({ code: "context_trimmed", message: expect.stringMatching(says) });
    expect(notice?.message).toMatch(/^The prompt is at its limit of 4000 tokens: .* Nothing is lost in the store\.$/);
  });
});
