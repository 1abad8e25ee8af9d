import { expect, test } from "@jest/globals";
import { toHistory } from "../../nodes/history.ts";
import type { PromptMessage } from "../../stores/postgres/conversations/message-store.ts";

const said = (id: string, role: PromptMessage["role"], content: string): PromptMessage => {
  return { id, role, content, tokenCount: 1, createdAt: new Date("2024-03-05T12:00:00Z"), pictureCount: 0 };
};

test("the window leaves out an answer that is being continued, and an answer that says nothing", () => {
  const messages = [
    said("asked", "user", "one"),
    said("empty", "assistant", "\n"),
    said("again", "user", "two"),
    said("last", "assistant", "yes"),
  ];
  const loaded = { summary: null, messages, isWhole: true, lastErasure: null, hasOtherEpisodes: false, pictures: new Map() };
  expect(toHistory(loaded, false).recentMessages.map(({ id }) => id)).toEqual(["asked", "again", "last"]);
  expect(toHistory(loaded, false, "last").recentMessages.map(({ id }) => id)).toEqual(["asked", "again"]);
});
