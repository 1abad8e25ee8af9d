import { describe, expect, test } from "@jest/globals";
import { repeatsItself } from "../../text/repeats-itself.ts";

const numbers = (count: number): string => Array.from({ length: count }, (_, number) => `word${number} `).join("");

describe("a text that repeats itself", () => {
  test.each([
    ["one sentence over and over", "I am sorry to hear that. ".repeat(30)],
    ["a long answer that loops at its end", numbers(1_000) + "and then we go on and on ".repeat(40)],
    ["Chinese", "我不知道你在说什么。".repeat(20)],
  ])("is found: %s", (_what, text) => expect(repeatsItself(text)).toBe(true));

  test.each([
    ["a long text", numbers(2_000)],
    ["a text of few words", "no, no, no, no, no!"],
    ["a refrain", `${numbers(60)} ${"Row, row, row your boat. ".repeat(3)} ${numbers(60)}`],
    ["nothing", ""],
  ])("is told from %s", (_what, text) => expect(repeatsItself(text)).toBe(false));
});
