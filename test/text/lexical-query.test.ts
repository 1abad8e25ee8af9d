import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { dayWords } from "../../text/days.ts";
import { lexicalQuery } from "../../text/lexical-query.ts";
import { lexicalText } from "../../text/lexical-text.ts";
import { anyText } from "../support/samples/any-text.ts";

function counts(query: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const word of query.split(" ")) if (word !== "") found[word] = (found[word] ?? 0) + 1;
  return found;
}

describe("lexicalQuery", () => {
  test("counts words and pairs of characters four times, single characters once", () => {
    expect(counts(lexicalQuery("hiking 导演"))).toEqual({ hike: 4, 导: 1, 导演: 4, 演: 1 });
  });

  test("counts a word once however often it is asked", () => {
    expect(counts(lexicalQuery("dog dog DOGS"))).toEqual({ dog: 4 });
  });

  test.each([
    ["What does Will do in May?", ["will", "may"]],
    ["你还记得我的猫叫什么名字吗？", ["猫", "猫叫", "叫", "名", "名字", "字"]],
    ["刚才提到的导演是哪位？", ["刚", "刚才", "才", "才提", "提", "提到", "到", "导", "导演", "演", "演是", "是"]],
    ["我的目的地是哪里", ["目", "目的", "的", "的地", "地", "地是", "是"]],
  ])("leaves question words and speakers out of %j", (question, expected) => {
    expect(Object.keys(counts(lexicalQuery(question)))).toEqual(expected);
  });

  test("leaves out what every day is written with, and nothing that tells days apart", () => {
    const asked = Object.keys(counts(lexicalQuery("2024年3月5日星期二")));
    expect(asked).toEqual(["2024", "2024年", "3月", "5日", "3月5日", "日星", "期二", "二"]);
    for (const day of ["2023-07-09", "2024-02-29"]) {
      const words = lexicalText(dayWords(new Date(day), "UTC")).split(" ");
      const everyDay = new Set(lexicalQuery("星期 周 年 月 日 狗").split(" "));
      expect(words.filter((word) => everyDay.has(word))).toEqual([]);
    }
  });

  test("keeps the question words when there is nothing else", () => {
    expect(lexicalQuery("什么？")).not.toBe("");
  });

  test("is empty when there is nothing to look for", () => {
    for (const question of ["", "?!", "who is that"]) expect(lexicalQuery(question)).toBe("");
  });

  test("property: asks for words of the text only, two hundred at most, four times at most", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const found = counts(lexicalQuery(text));
        expect(Object.keys(found).length).toBeLessThanOrEqual(200);
        expect(Object.values(found).every((count) => count === 1 || count === 4)).toBe(true);
      }),
    );
  });

  test("finds nothing in its words that lexicalText would not make", () => {
    const made = new Set(lexicalText("我们三月去 Lake Como，住在 B-12 号楼").split(" "));
    expect(
      lexicalQuery("三月去 Lake Como 住在 B-12")
        .split(" ")
        .filter((word) => !made.has(word)),
    ).toEqual([]);
  });
});
