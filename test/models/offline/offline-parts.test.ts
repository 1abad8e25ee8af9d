import { expect, test } from "@jest/globals";
import { offlineParts } from "../../../models/offline/offline-parts.ts";
import { partLines } from "../../../turn/summary-parts.ts";

const user = (content: string) => ({ role: "user" as const, content });
const assistant = (content: string) => ({ role: "assistant" as const, content });

test("rules fill the parts that they can, in English", () => {
  const parts = offlineParts(null, [
    user("I want to plan a trip to Lisbon in May."),
    assistant("Nice! Next we look for a train."),
    user("We decided to take the night train. I prefer a window seat. I still have to renew my passport."),
    user("My passport number is X12345678. Which hotel is near the harbour?"),
  ]);
  expect(parts.core_goal).toContain("Lisbon");
  expect(parts.key_decisions.join()).toContain("night train");
  expect(parts.user_preferences.join()).toContain("window seat");
  expect(parts.pending_tasks.join()).toContain("renew");
  expect(parts.important_facts.join()).toContain("X12345678");
  expect(parts.unresolved_issues).toEqual(["Which hotel is near the harbour?"]);
  expect(parts.next_steps.join()).toContain("train");
  expect(partLines(parts)).toMatch(/^Goal: [^]*\nDecisions: [^]*\nOpen: Which hotel/);
});

test("and in Chinese, carrying on what was there before", () => {
  const before = offlineParts(null, [user("我想五月去里斯本旅行。我决定坐夜车。")]);
  const parts = offlineParts(before, [user("我喜欢靠窗的座位。我还要换护照。"), assistant("好的。接下来我们订酒店。")]);
  expect(parts.core_goal).toContain("里斯本");
  expect(parts.key_decisions.join()).toContain("夜车");
  expect(parts.user_preferences.join()).toContain("靠窗");
  expect(parts.pending_tasks.join()).toContain("护照");
  expect(partLines(parts)).toMatch(/^目标：[^]*\n决定：/);
});

test("have no line for a part without anything", () => {
  expect(partLines(offlineParts(null, [user("Hello!"), assistant("Hi.")]))).toBe("");
});
