import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { lexicalText } from "../../text/lexical-text.ts";
import { anyText } from "../support/samples/any-text.ts";

const words = (text: string): string[] => lexicalText(text).split(" ");

describe("lexicalText", () => {
  test.each([
    ["She was running to the stores", "run store"],
    ["Caroline's dog doesn't bark", "carolin dog bark"],
    ["I can’t go, I'm ill", "go ill"],
    ["CAFÉ ＡＢＣ crème", "cafe abc creme"],
    ["on May 8th, 2023", "may 8 2023"],
    ["Will Smith", "will smith"],
  ])("makes stems without stop words of %j", (text, expected) => expect(lexicalText(text)).toBe(expected));

  test.each([
    ["ticket TK-4471", "ticket tk 4471 tk4471"],
    ["v2.3", "v2 3 v23"],
    ["write to jo@example.com.", "write jo exampl com joexamplecom"],
    ["10:30", "10 30 1030"],
    ["e-mail", "e mail email"],
  ])("keeps what marks hold together in parts and whole: %j", (text, expected) => expect(lexicalText(text)).toBe(expected));

  test.each([
    ["导演说", "导 导演 演 演说 说"],
    ["猫。狗", "猫 狗"],
    ["我用TypeScript写", "typescript 我 我用 用 写"],
    ["こんに", "こ こん ん んに に"],
    ["カレー", "カ カレ レ レー ー"],
    ["한국어", "한 한국 국 국어 어"],
    ["𠮷野", "𠮷 𠮷野 野"],
  ])("gives characters and pairs of %j", (text, expected) => expect(lexicalText(text)).toBe(expected));

  test.each(["5月8日", "五月八日", "五月8号", "2023年5月8日", "５月８日", "05月08日"])("gives one word for the day %j", (text) =>
    expect(words(text)).toEqual(expect.arrayContaining(["5月", "8日", "5月8日"])),
  );

  test.each([
    ["十二月三十一号", "12月31日"],
    ["10月二十日", "10月20日"],
    ["二月十日", "2月10日"],
    ["养了3只猫", "3只"],
  ])("gives a number of %j with what it counts", (text, expected) => expect(words(text)).toContain(expected));

  test.each(["", "  ", "…!?", "👍", "the and of"])("is empty for %j", (text) => expect(lexicalText(text)).toBe(""));

  test("property: the words are letters and digits, none is long, and they fit a column of Milvus", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const prepared = lexicalText(text);
        expect(Buffer.byteLength(prepared)).toBeLessThanOrEqual(60_000);
        if (prepared === "") return;
        const all = prepared.split(" ");
        expect(all.length).toBeLessThanOrEqual(7_000);
        expect(all.filter((word) => !/^[\p{L}\p{N}]{1,41}$/u.test(word))).toEqual([]);
      }),
    );
  });

  test("keeps beginning and end of a text that is too long", () => {
    const prepared = words(`zebra 开头 ${"导演说 hello-world ".repeat(50_000)} giraffe 结尾`);
    expect(prepared).toEqual(expect.arrayContaining(["zebra", "开头", "giraff", "结尾"]));
  });
});
