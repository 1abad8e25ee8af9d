import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens as r50k } from "gpt-tokenizer/encoding/r50k_base";
import { type CountedPrompts, makeTokenCounts } from "../../../models/facts/token-counts.ts";

const ENGLISH = [
  "We moved to Lisbon in 2019 because the rent was lower, and my sister Ada found a job at the harbour.",
  "Could you remind me what the plan for Thursday, 8 May was? I think the train leaves at 7:45.",
  "The recipe needs 200 g of flour, two eggs and a little salt; bake it for 25 minutes.",
  "I don't like long answers. Keep it short, please, and use plain words.",
];
const CHINESE = [
  "我们二〇一九年搬到里斯本，因为那里的房租比较便宜。",
  "你还记得星期四的计划吗？火车是早上7点45分出发。",
  "这个菜谱需要200克面粉、两个鸡蛋和一点盐，烤25分钟。",
  "我不喜欢太长的回答，请简短一点。",
];
/** A prompt of both languages, more of the one or the other. */
const promptOf = (number: number): BaseMessage[] =>
  Array.from({ length: 4 + (number % 9) }, (_, index) => {
    const texts = (number * 7 + index) % 5 < number % 5 ? CHINESE : ENGLISH;
    return new HumanMessage(`${texts[(number + index) % 4]} ${texts[(number * 3 + index) % 4]}`);
  });
const tokensOf = (messages: BaseMessage[], count: (text: string) => number): number =>
  messages.reduce((sum, { text }) => sum + count(text) + 4, 3);
const learnFrom = (
  counts: ReturnType<typeof makeTokenCounts>,
  from: number,
  to: number,
  tokens: (messages: BaseMessage[]) => number,
): void => {
  for (let number = from; number < to; number++) counts.learn("m", { messages: promptOf(number) }, tokens(promptOf(number)));
};
const errorsOf = (counts: ReturnType<typeof makeTokenCounts>, tokens: (messages: BaseMessage[]) => number): number[] =>
  Array.from({ length: 40 }, (_, number) => promptOf(500 + number)).map((messages) => {
    return Math.abs(counts.count("m", { messages }) / tokens(messages) - 1);
  });

describe("counts of a model's tokens", () => {
  test.each([
    ["o200k_base", o200k],
    ["r50k_base, with twice as many tokens in Chinese", r50k],
  ])("learn from what its server counts, in English, Chinese and both: %s", (_name, count) => {
    const counts = makeTokenCounts();
    const real = (messages: BaseMessage[]): number => tokensOf(messages, count);
    expect(Math.max(...errorsOf(counts, real))).toBeGreaterThan(0.05);
    learnFrom(counts, 0, 40, real);
    expect(Math.max(...errorsOf(counts, real))).toBeLessThan(0.03);
    expect(counts.knows("another")).toBe(false);
  });

  test("are not led astray by single wrong counts, but learn anew when a server has another model under the name", () => {
    const counts = makeTokenCounts();
    const real = (messages: BaseMessage[]): number => tokensOf(messages, o200k);
    learnFrom(counts, 0, 40, real);
    for (const wrong of [1, 10, 100_000]) counts.learn("m", { messages: promptOf(3) }, wrong);
    expect(Math.max(...errorsOf(counts, real))).toBeLessThan(0.03);
    const other = (messages: BaseMessage[]): number => 3 * real(messages);
    learnFrom(counts, 40, 90, other);
    expect(Math.max(...errorsOf(counts, other))).toBeLessThan(0.05);
  });

  test("stay an estimate while a server counts something else than the prompt", () => {
    const counts = makeTokenCounts();
    const estimate = counts.count("m", { messages: promptOf(1) });
    learnFrom(counts, 0, 30, () => 100);
    expect([counts.knows("m"), counts.count("m", { messages: promptOf(1) })]).toEqual([false, estimate]);
  });

  test("count tools by how many tokens their server makes of them", () => {
    const counts = makeTokenCounts();
    for (let number = 0; number < 40; number++) {
      const toolTokens = (number % 4) * 500;
      const messages = promptOf(number);
      counts.learn("m", { messages, toolTokens }, tokensOf(messages, o200k) + Math.round(toolTokens * 0.6));
    }
    const messages = promptOf(7);
    const real = tokensOf(messages, o200k) + 1_200;
    expect(Math.abs(counts.count("m", { messages, toolTokens: 2_000 }) / real - 1)).toBeLessThan(0.03);
  });

  test("are stored, and known again by the next process", () => {
    const saved = new Map<string, CountedPrompts>();
    const counts = makeTokenCounts({ save: (model, counted) => saved.set(model, counted) });
    const real = (messages: BaseMessage[]): number => tokensOf(messages, r50k);
    learnFrom(counts, 0, 40, real);
    const stored = [...saved].map(([model, counted]) => ({ model, counted: JSON.parse(JSON.stringify(counted)) as CountedPrompts }));
    expect(Math.max(...errorsOf(makeTokenCounts({ stored }), real))).toBeLessThan(0.03);
    expect(makeTokenCounts({ stored: [{ model: "m", counted: { samples: 9, weight: 9, products: [], shares: [] } }] }).knows("m")).toBe(
      false,
    );
  });
});
