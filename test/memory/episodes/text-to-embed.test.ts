import { describe, expect, test } from "@jest/globals";
import { textToEmbed } from "../../../memory/episodes/index-episodes.ts";

const textOf = (asked: string, answer: string): string => textToEmbed({ asked: { content: asked }, answer: { content: answer } });

describe("embeddedText", () => {
  test("is the user's message and a short answer", () => {
    expect(textOf("Who made it?", "Agnès Varda.")).toBe("Who made it?\nAgnès Varda.");
    expect(textOf("导演是谁？", "王家卫。")).toBe("导演是谁？\n王家卫。");
  });

  test("is the user's message alone when the answer is long", () => {
    expect(textOf("Who made it?", "x".repeat(400))).toBe(`Who made it?\n${"x".repeat(400)}`);
    expect(textOf("Who made it?", "x".repeat(401))).toBe("Who made it?");
  });

  test("keeps the whole of a long message of the user", () => {
    expect(textOf("word ".repeat(500), "Yes.")).toContain("word ".repeat(500));
  });

  test("of a message without a partner is that message, however long", () => {
    const long = { content: "x".repeat(401) };
    expect(textToEmbed({ asked: null, answer: long })).toBe(long.content);
    expect(textToEmbed({ asked: long, answer: null })).toBe(long.content);
  });
});
