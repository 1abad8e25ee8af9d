import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { timeOfQuestion, timesInEarlierYears } from "../../text/time-of-question.ts";
import { anyText } from "../support/samples/any-text.ts";

/** A Sunday. */
const now = new Date("2026-11-22T03:00:00Z");

/** "2026-01-11" for a day, "2026-03-01..2026-05-31" for a span, both ends included; null for no time. */
function named(question: string, timeZone = "UTC", moment = now): string | null {
  const time = timeOfQuestion(question, moment, timeZone);
  if (time === null) return null;
  const format = new Intl.DateTimeFormat("en-CA", { timeZone });
  const [first, last] = [format.format(time.from), format.format(time.until.getTime() - 1)];
  return time.kind === "day" && first === last ? first : `${first}..${last}`;
}

describe("timeOfQuestion in English", () => {
  test.each([
    ["What did I do on January 11?", "2026-01-11"],
    ["Where was I on November 22?", "2026-11-22"],
    ["Who visited on 8 May last year?", "2025-05-08"],
    ["2023-05-08?", "2023-05-08"],
    ["What did I say yesterday?", "2026-11-21"],
    ["What did I tell you on Friday?", "2026-11-20"],
    ["What did I do the Friday before last?", "2026-11-13"],
    ["what happened at 5 pm on May 8?", "2026-05-08"],
  ])("reads %j as the day %s", (question, day) => expect(named(question)).toBe(day));

  test.each([
    ["What did I read last week?", "2026-11-09..2026-11-15"],
    ["What did I do in March?", "2026-03-01..2026-03-31"],
    ["What did I do in early March?", "2026-03-01..2026-03-10"],
    ["What was decided in May 2023?", "2023-05-01..2023-05-31"],
    ["Where did I go last spring?", "2026-03-01..2026-05-31"],
    ["Where did I go last fall?", "2025-09-01..2025-11-30"],
    ["last year's winter?", "2025-12-01..2026-02-28"],
    ["What did I learn in late 2023?", "2023-09-01..2023-12-31"],
    ["What were my goals last year?", "2025-01-01..2025-12-31"],
    ["What did we do in the week of May 8?", "2026-05-04..2026-05-10"],
    ["What have I learned in the past two weeks?", "2026-11-08..2026-11-22"],
    ["the other day I named a film", "2026-11-15..2026-11-21"],
    ["what did I say this week", "2026-11-16..2026-11-22"],
  ])("reads %j as the span %s", (question, span) => expect(named(question)).toBe(span));
});

describe("timeOfQuestion in Chinese", () => {
  test.each([
    ["1月3日我做了什么？", "2026-01-03"],
    ["十二月二十五号呢", "2025-12-25"],
    ["二〇二三年五月八日", "2023-05-08"],
    ["昨天我说了什么", "2026-11-21"],
    ["前天晚上我看了什么电影", "2026-11-20"],
    ["大前天呢", "2026-11-19"],
    ["上周三我去了哪里", "2026-11-11"],
    ["上星期天吃了什么", "2026-11-15"],
    ["周三我们说了什么", "2026-11-18"],
    ["星期五的会议", "2026-11-20"],
    ["3号我做了什么", "2026-11-03"],
    ["28号晚上吃了什么", "2026-10-28"],
    ["去年的今天我在哪", "2025-11-22"],
  ])("reads %j as the day %s", (question, day) => expect(named(question)).toBe(day));

  test.each([
    ["三月份我在忙什么", "2026-03-01..2026-03-31"],
    ["去年夏天去哪玩了", "2025-06-01..2025-08-31"],
    ["上个月花了多少钱", "2026-10-01..2026-10-31"],
    ["这个月初我买了什么", "2026-11-01..2026-11-10"],
    ["五月底呢", "2026-05-22..2026-05-31"],
    ["24年5月去了哪", "2024-05-01..2024-05-31"],
    ["前两天我说的书", "2026-11-17..2026-11-20"],
    ["上周读了什么书", "2026-11-09..2026-11-15"],
    ["上周末做了什么", "2026-11-14..2026-11-15"],
    ["上上周呢", "2026-11-02..2026-11-08"],
    ["两周前", "2026-11-05..2026-11-11"],
    ["一个月前", "2026-10-01..2026-10-31"],
    ["两年前我住在哪", "2024-01-01..2024-12-31"],
    ["前年的旅行", "2024-01-01..2024-12-31"],
    ["去年年底我换了工作吗", "2025-11-01..2025-12-31"],
    ["5月3日到6日我在哪", "2026-05-03..2026-05-06"],
    ["几天前说的餐厅", "2026-11-17..2026-11-20"],
  ])("reads %j as the span %s", (question, span) => expect(named(question)).toBe(span));
});

/** Questions, " | " between two. */
const TIMELESS = `May I ask you something? | What may 5 people do? | We march on, don't we? | What is my plan for today?
  | What did I do 10 minutes ago? | Does April like cats? | What do I do on Mondays? | What do we eat every Friday?
  | What happens next Friday? | What is on the 5th floor? | Will it rain tomorrow? | How old am I this year? | 我现在住在哪里 | 今天吃什么
  | 下周三有什么安排 | 我每周三做什么 | 一周三次健身够吗 | 我住在12号楼吗 | 周末我一般做什么 | 十几年前的老歌 | 五月天的歌 | 我今年多少岁 | 过去年轻人喜欢什么`;

describe("timeOfQuestion", () => {
  test.each(TIMELESS.split("|").map((question) => question.trim()))("finds no time in %j", (question) =>
    expect(named(question)).toBeNull(),
  );

  test("uses the days of the time zone", () => {
    const late = new Date("2026-11-22T20:00:00Z");
    expect(timeOfQuestion("yesterday", late, "UTC")?.from.toISOString()).toBe("2026-11-21T00:00:00.000Z");
    expect(timeOfQuestion("昨天", late, "Asia/Shanghai")?.from.toISOString()).toBe("2026-11-21T16:00:00.000Z");
  });

  test("knows that days are shorter and longer where clocks change", () => {
    const time = timeOfQuestion("on March 8", now, "America/New_York");
    expect([time?.from.toISOString(), time?.until.toISOString()]).toEqual(["2026-03-08T05:00:00.000Z", "2026-03-09T04:00:00.000Z"]);
    const gap = timeOfQuestion("on November 4, 2018", now, "America/Sao_Paulo");
    expect(gap?.from.toISOString()).toBe("2018-11-04T03:00:00.000Z");
  });

  test("reads a question that mixes both languages", () => {
    expect(named("last week 我说的 restaurant 叫什么")).toBe("2026-11-09..2026-11-15");
    expect(named("我上周三的 meeting 说了什么")).toBe("2026-11-11");
  });

  test("finds January when asked in December, and December when asked in January", () => {
    expect(named("in January", "UTC", new Date("2026-12-05T00:00:00Z"))).toBe("2026-01-01..2026-01-31");
    expect(named("十二月", "UTC", new Date("2026-01-05T00:00:00Z"))).toBe("2025-12-01..2025-12-31");
  });

  test("gives for any text a time that begins before it ends and is never in the future", () => {
    const words = "上|周|三|月|5|日|年|去年|前|in |May |8 |last |week |ago |2024|到|two |-".split("|");
    const pieces = fc.array(fc.constantFrom(...words), { maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(pieces, anyText), (question) => {
        const time = timeOfQuestion(question, now, "Asia/Shanghai");
        if (time === null) return;
        expect(time.from.getTime()).toBeLessThan(time.until.getTime());
        expect(time.from.getTime()).toBeLessThanOrEqual(now.getTime());
      }),
    );
  });
});

describe("timesInEarlierYears", () => {
  test.each([
    ["What did I do on May 3?", ["2025-05-03", "2024-05-03", "2023-05-03"]],
    ["5月3日我做了什么？", ["2025-05-03", "2024-05-03", "2023-05-03"]],
    ["What did I do in October?", ["2025-10-01", "2024-10-01", "2023-10-01"]],
    ["What did I do yesterday?", []],
    ["上周我们聊了什么？", []],
    ["What did I do last month?", []],
    ["What did I do on May 3, 2026?", []],
    ["去年5月3日我做了什么？", []],
  ])("finds for %j the dates %j", (text, days) => {
    const time = timeOfQuestion(text, now, "UTC");
    if (!time) throw new Error("The question names no time.");
    const earlier = timesInEarlierYears({ text, time, now, timeZone: "UTC" }, new Date("2023-02-01T00:00:00Z"));
    expect(earlier.map(({ from }) => from.toISOString().slice(0, 10))).toEqual(days);
    expect(earlier.every(({ kind }) => kind === time.kind)).toBe(true);
  });
});
