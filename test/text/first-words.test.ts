import { describe, expect, test } from "@jest/globals";
import { firstWords } from "../../text/first-words.ts";

describe("the first words of a text", () => {
  test.each([
    ["What is the hotel limit in Lisbon?", "What is the hotel limit in Lisbon?"],
    ["  What\n\nis   it? ", "What is it?"],
    [
      "I would like to know whether the night train from Lisbon to Madrid runs again, and what it costs.",
      "I would like to know whether the night train from Lisbon to…",
    ],
    ["你之前提到的那个导演是谁？", "你之前提到的那个导演是谁？"],
    [
      "请帮我写一份关于里斯本夏天旅行的计划，包括酒店、火车和图书馆的开放时间，还有附近好吃的餐厅。",
      "请帮我写一份关于里斯本夏天旅行的计划，包括酒店、火车和图书…",
    ],
    ["a".repeat(100), `${"a".repeat(30)}…`],
    ["?!".repeat(100), `${"?!".repeat(15)}…`],
    [" \n ", ""],
  ])("of %j are %j", (text, words) => expect(firstWords(text)).toBe(words));
});
