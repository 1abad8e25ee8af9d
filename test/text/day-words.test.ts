import { describe, expect, test } from "@jest/globals";
import { dayWords } from "../../text/days.ts";
import { lexicalQuery } from "../../text/lexical-query.ts";
import { lexicalText } from "../../text/lexical-text.ts";

describe("dayWords", () => {
  const day = new Date("2023-05-08T12:00:00Z");

  test("names the day in both languages", () => {
    expect(dayWords(day, "UTC")).toBe("monday may 8 2023 2023年5月8日 星期一 周一");
  });

  test("means the day of the time zone", () => {
    const late = new Date("2023-12-31T20:00:00Z");
    expect(dayWords(late, "UTC")).toContain("sunday december 31 2023");
    expect(dayWords(late, "Asia/Shanghai")).toContain("monday january 1 2024");
  });

  test.each([
    ["What happened on May 8?", ["may", "8"]],
    ["the 8th of May 2023", ["may", "8", "2023"]],
    ["5月8日我做了什么", ["5月", "8日", "5月8日"]],
    ["五月八号去了哪", ["5月", "8日", "5月8日"]],
    ["2023年5月的事", ["2023年", "5月"]],
    ["on a Monday", ["monday"]],
    ["周一聊了什么", ["周一"]],
    ["星期一", ["期一"]],
  ])("shares words with %j", (question, shared) => {
    const prepared = lexicalText(dayWords(day, "UTC")).split(" ");
    expect(prepared).toEqual(expect.arrayContaining(shared));
    expect(lexicalQuery(question).split(" ")).toEqual(expect.arrayContaining(shared));
  });

  test("refuses a time zone that does not exist", () => expect(() => dayWords(day, "Mars/Olympus")).toThrow(RangeError));
});
