import { expect, test } from "@jest/globals";
import { promptLimitNotice } from "../../nodes/generate-rag.ts";

const OLDEST = "the oldest 3 recent messages are left out";

test.each<[string, { messages: number; shortened: number; windowIsWhole: boolean }, string | null]>([
  ["everything is in it as it is", { messages: 0, shortened: 0, windowIsWhole: true }, null],
  ["one message has no room", { messages: 1, shortened: 0, windowIsWhole: true }, "the oldest recent message is left out"],
  ["messages have no room", { messages: 3, shortened: 0, windowIsWhole: true }, OLDEST],
  ["older ones were not even read", { messages: 0, shortened: 0, windowIsWhole: false }, "older messages are left out"],
  ["older ones were not read and others have no room", { messages: 3, shortened: 0, windowIsWhole: false }, "older messages are left out"],
  ["one message is shortened", { messages: 0, shortened: 1, windowIsWhole: true }, "1 long message is shortened"],
  [
    "some have no room and others are shortened",
    { messages: 3, shortened: 2, windowIsWhole: true },
    `${OLDEST}, and 2 long messages are shortened`,
  ],
])("the notice of the prompt's limit when %s", (_name, { messages, shortened, windowIsWhole }, says) => {
  const notice = promptLimitNotice({ leftOut: { messages, uncovered: 0 }, shortened }, { windowIsWhole, tokenBudget: 4_000 });
  const message = `The prompt is at its limit of 4000 tokens: ${says}. Nothing is lost in the store.`;
  expect(notice).toEqual(says && { code: "context_trimmed", message });
});
