import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { estimateTokens } from "../../text/tokens.ts";

/** What people and programs write, by kind. */
const SAMPLES = {
  "English prose": `Yesterday I spoke with Dr. Hannah Whitfield about the quarterly budget; she thinks we should postpone the launch until March,
because two of the suppliers have not confirmed their prices yet. Could you remind me on Thursday to call her assistant?`,
  "Chinese prose":
    "昨天我和王导演谈了新电影的剧本，他觉得第二幕的节奏太慢，希望我们在下周三之前改好。顺便提醒我买两张去上海的火车票，靠窗的位置最好。",
  "classical Chinese": "學而時習之，不亦說乎？有朋自遠方來，不亦樂乎？人不知而不慍，不亦君子乎？",
  "mixed Chinese and English":
    "我下周要去 San Francisco 出差，please 帮我 check 一下 United 的航班，预算大概 5000 元左右，最好是 direct flight，回来的时间 flexible。",
  German: "Gestern sprach ich mit der Geschäftsführerin über die Verlängerung des Mietvertrags; die Kündigungsfrist läuft übermorgen ab.",
  Japanese: "昨日、田中さんと新しいプロジェクトについて話しました。来週の水曜日までに資料を送ってください。",
  Korean: "어제 김 감독님과 새 영화 대본에 대해 이야기했어요. 다음 주 수요일까지 고쳐야 합니다.",
  Russian: "Вчера я разговаривал с режиссёром о новом сценарии, и он попросил исправить второй акт до среды.",
  Arabic: "تحدثت أمس مع المخرج عن السيناريو الجديد وطلب مني تعديل الفصل الثاني قبل يوم الأربعاء.",
  TypeScript: `export async function readLines(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8");
  return text.split(/\\r?\\n/).filter((line) => line.length > 0);
}`,
  Python: `def moving_average(values, size=3):
    """Mean of each run of \`size\` values."""
    return [sum(values[i:i + size]) / size for i in range(len(values) - size + 1)]`,
  JSON: '{"user_id":"ada","session_id":"s-1","message":"hello","timings":{"total_ms":12.5,"nodes":{"route":0.2,"history":3.1}}}',
  "text with emoji": "太好了🎉🎉 see you at 8 👋🏽 don't forget the cake 🎂 and the kids 👨‍👩‍👧‍👦!",
  "emoji alone": "😀😂🥰👍🎉🔥🚀✨🌈🐼🍜",
  numbers: "2024-01-31 12:45:09, 1,234,567.89 EUR, +49 30 1234567, 192.168.0.1",
};

const factorOf = (text: string): number => estimateTokens(text) / encode(text).length;

/** Any text, built of pieces of the samples and of any other characters. */
const anyText = fc
  .array(fc.oneof(fc.constantFrom(...Object.values(SAMPLES)), fc.string({ unit: "binary", maxLength: 30 })), { maxLength: 4 })
  .map((pieces) => pieces.join(""));

describe("estimateTokens", () => {
  test.each(Object.entries(SAMPLES))("is between 0.75 and 2 times what o200k_base counts for %s", (_name, text) => {
    expect(factorOf(text)).toBeGreaterThanOrEqual(0.75);
    expect(factorOf(text)).toBeLessThanOrEqual(2);
  });

  test("property: is between 0.75 and 2 times what o200k_base counts for any mixture of such texts", () => {
    const mixture = fc.shuffledSubarray(Object.values(SAMPLES), { minLength: 2 }).map((texts) => texts.join("\n"));
    fc.assert(
      fc.property(mixture, (text) => {
        expect(factorOf(text)).toBeGreaterThanOrEqual(0.75);
        expect(factorOf(text)).toBeLessThanOrEqual(2);
      }),
      { numRuns: 50 },
    );
  });

  test("property: is a whole number, 0 only for nothing", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(Number.isInteger(estimateTokens(text))).toBe(true);
        expect(estimateTokens(text) > 0).toBe(text !== "");
      }),
    );
  });

  test("property: a longer text never has fewer tokens than either of its parts, nor more than both together", () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        const both = estimateTokens(one + other);
        expect(both).toBeGreaterThanOrEqual(Math.max(estimateTokens(one), estimateTokens(other)));
        expect(both).toBeLessThanOrEqual(estimateTokens(one) + estimateTokens(other));
      }),
    );
  });

  test("counts text of a million characters in well under a second", () => {
    const text = SAMPLES["mixed Chinese and English"].repeat(12_000);
    const began = performance.now();
    estimateTokens(text);
    expect(performance.now() - began).toBeLessThan(1_500);
  });
});
