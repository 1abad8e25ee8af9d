import { describe, expect, test } from "@jest/globals";
import { makeLoopDetector, repeatsItself } from "../../text/repeats-itself.ts";

const numbers = (count: number): string => Array.from({ length: count }, (_, number) => `word${number} `).join("");

describe("a text that repeats itself", () => {
  test.each([
    ["one sentence over and over", "I am sorry to hear that. ".repeat(30)],
    ["a long answer that loops at its end", numbers(1_000) + "and then we go on and on ".repeat(40)],
    ["Chinese", "我不知道你在说什么。".repeat(20)],
    ["a short sentence four times", "I am a helpful assistant. ".repeat(4)],
    ["a sentence three times, with other marks", "The weather is nice. The weather is nice! The weather is nice"],
    ["seventeen rows of four words without a full stop", "the user lives in ".repeat(5)],
    ["a short Chinese sentence three times", "我是一个助手。".repeat(3)],
  ])("is found: %s", (_what, text) => expect(repeatsItself(text)).toBe(true));

  test.each([
    ["a long text", numbers(2_000)],
    ["a text of few words", "no, no, no, no, no!"],
    ["short lines that come again", "Anna: yes\nBen: no\nCarla: yes\nDora: yes, but only on Friday"],
    ["a refrain in Chinese", "好的，好的。明天早上九点在火车站见。好的。"],
    ["sentences that begin alike", "You like tea. You like coffee. You like milk. You like water."],
    ["a refrain", `${numbers(60)} ${"Row, row, row your boat. ".repeat(3)} ${numbers(60)}`],
    ["nothing", ""],
  ])("is told from %s", (_what, text) => expect(repeatsItself(text)).toBe(false));
});

test.each<[string, string, boolean]>([
  ["blanks behind the beginning of JSON", `{"choice":${"\n ".repeat(2_000)}`, true],
  ["the same words", "amigos de nós ".repeat(300), true],
  ["a short text", "🎌".repeat(100), false],
  ["prose", Array.from({ length: 500 }, (_, n) => `sentence ${n} tells of town ${n * 7}`).join(". "), false],
  ["a table", Array.from({ length: 300 }, (_, n) => `| ${n} | ${n * 3} | wombat ${n} |`).join("\n"), false],
])("a loop detector reads %s as it grows", (_what, text, says) => {
  const loops = makeLoopDetector();
  const told: boolean[] = [];
  for (let length = 10; length <= text.length; length += 10) told.push(loops(text.slice(0, length)));
  expect(told.includes(true)).toBe(says);
});
