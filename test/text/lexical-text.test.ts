import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { dayWords } from "../../text/days.ts";
import { lexicalQuery, lexicalText, soughtWords } from "../../text/lexical-text.ts";
import { anyText } from "../support/samples/any-text.ts";
import { MANY_SCRIPTS } from "../support/samples/many-scripts.ts";

const words = (text: string): string[] => lexicalText(text).split(" ");

describe("lexicalText", () => {
  test.each([
    ["She was running to the stores", "run store"],
    ["Caroline's dog doesn't bark", "carolin dog bark"],
    ["I can’t go, I'm ill", "go ill"],
    ["CAFÉ ＡＢＣ crème", "cafe abc creme"],
    ["on May 8th, 2023", "may 8 2023"],
    ["Will Smith", "will smith"],
  ])("gives the stems of %j without its stop words", (text, expected) => expect(lexicalText(text)).toBe(expected));

  test.each([
    ["ticket TK-4471", "ticket tk 4471 tk4471"],
    ["v2.3", "v2 3 v23"],
    ["write to jo@example.com.", "write jo exampl com joexamplecom"],
    ["10:30", "10 30 1030"],
    ["e-mail", "e mail email"],
  ])("gives both the parts and the whole of what marks join in %j", (text, expected) => expect(lexicalText(text)).toBe(expected));

  test.each([
    ["导演说", "导 导演 演 演说 说"],
    ["猫。狗", "猫 狗"],
    ["我用TypeScript写", "typescript 我 我用 用 写"],
    ["こんに", "こ こん ん んに に"],
    ["カレー", "カ カレ レ レー ー"],
    ["한국어", "한 한국 국 국어 어"],
    ["𠮷野", "𠮷 𠮷野 野"],
  ])("gives the characters of %j and their pairs", (text, expected) => expect(lexicalText(text)).toBe(expected));

  test.each(["5月8日", "五月八日", "五月8号", "2023年5月8日", "５月８日", "05月08日"])("gives one word for the day %j", (text) =>
    expect(words(text)).toEqual(expect.arrayContaining(["5月", "8日", "5月8日"])),
  );

  test.each([
    ["十二月三十一号", "12月31日"],
    ["10月二十日", "10月20日"],
    ["二月十日", "2月10日"],
    ["养了3只猫", "3只"],
  ])("gives a number in %j together with what it counts", (text, expected) => expect(words(text)).toContain(expected));

  test.each([
    ["ฉันพักโรงแรมHiltonที่เชียงใหม่", "ฉัน พัก โรงแรม hilton ที่ เชียงใหม่"],
    ["ຂ້ອຍຢູ່ວຽງຈັນ", "ຂ້ອຍ ຢູ່ ວຽງຈັນ"],
    ["ខ្ញុំរស់នៅភ្នំពេញ", "ខ្ញុំ រស់នៅ ភ្នំពេញ"],
    ["ခွေးနှစ်ကောင်ရှိတယ်", "ခွေး နှစ် ကောင် ရှိ တယ်"],
  ])("gives the words of %j, which stand without spaces", (text, expected) => expect(lexicalText(text)).toBe(expected));

  test.each([
    ["दिन दीन दान", "दिन दीन दान"],
    ["পানি पानी", "পানি पानी"],
    ["كَتَبَ כָּתַב", "كتب כתב"],
    ["Ёлка ёлка́ αύριο", "ёлка ёлка αύριο"],
  ])("leaves out of %j accents and optional vowel points, and no vowel", (text, expected) => expect(lexicalText(text)).toBe(expected));

  test.each(MANY_SCRIPTS)("shares words of %s with the question about a text alone", (_language, ...remembered) => {
    for (const [said, asked] of remembered) {
      const shares = remembered.map(([text]) => words(text).some((word) => lexicalQuery(asked).split(" ").includes(word)));
      expect(shares).toEqual(remembered.map(([text]) => text === said));
    }
  });

  test.each(["", "  ", "…!?", "👍", "the and of"])("is empty for %j", (text) => expect(lexicalText(text)).toBe(""));

  test("gives only letters and digits, no long word, and text that fits a column of Milvus, for any text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const prepared = lexicalText(text);
        expect(Buffer.byteLength(prepared)).toBeLessThanOrEqual(60_000);
        if (prepared === "") return;
        const all = prepared.split(" ");
        expect(all.length).toBeLessThanOrEqual(7_000);
        expect(all.filter((word) => !/^[\p{L}\p{N}][\p{L}\p{M}\p{N}]{0,40}$/u.test(word))).toEqual([]);
      }),
    );
  });

  test("keeps the beginning and the end of a text that is too long", () => {
    const prepared = words(`zebra 开头 ${"导演说 hello-world ".repeat(50_000)} giraffe 结尾`);
    expect(prepared).toEqual(expect.arrayContaining(["zebra", "开头", "giraff", "结尾"]));
  });
});

/** How often the query has each of its words. */
function counts(query: string): Record<string, number> {
  const words = query.split(" ").filter((word) => word !== "");
  return Object.fromEntries(words.map((word) => [word, words.filter((other) => other === word).length]));
}

describe("lexicalQuery", () => {
  test("counts words and pairs of characters four times, and single characters once, however often the question has them", () => {
    expect(counts(lexicalQuery("hiking 导演 hike HIKES"))).toEqual({ hike: 4, 导: 1, 导演: 4, 演: 1 });
  });

  test.each([
    ["What does Will do in May?", ["will", "may"]],
    ["你还记得我的猫叫什么名字吗？", ["猫", "猫叫", "叫", "名", "名字", "字"]],
    ["刚才提到的导演是哪位？", ["刚", "刚才", "才", "才提", "提", "提到", "到", "导", "导演", "演", "演是", "是"]],
    ["我的目的地是哪里", ["目", "目的", "的", "的地", "地", "地是", "是"]],
    ["2024年3月5日星期二", ["2024", "2024年", "3月", "5日", "3月5日", "日星", "期二", "二"]],
  ])("leaves question words, speakers and the words of every day out of %j", (question, expected) => {
    expect(Object.keys(counts(lexicalQuery(question)))).toEqual(expected);
  });

  test("keeps the question words when there is nothing else", () => expect(lexicalQuery("什么？")).not.toBe(""));

  test.each(["", "?!", "who is that"])("is empty for %j", (question) => expect(lexicalQuery(question)).toBe(""));

  test("gives for any text at most two hundred words, each once or four times", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const found = Object.values(counts(lexicalQuery(text)));
        expect(found.length).toBeLessThanOrEqual(200);
        expect(found.filter((count) => count !== 1 && count !== 4)).toEqual([]);
      }),
    );
  });

  test("gives for any text only words that lexicalText gives too", () => {
    const made = lexicalText("我们三月去 Lake Como，住在 B-12 号楼").split(" ");
    expect(made).toEqual(expect.arrayContaining(Object.keys(counts(lexicalQuery("三月去 Lake Como 住在 B-12")))));
  });
});

describe("dayWords", () => {
  const day = new Date("2023-05-08T12:00:00Z");

  test("gives the day in the time zone in both languages, and refuses a time zone that does not exist", () => {
    expect(dayWords(day, "UTC")).toBe("monday may 8 2023 2023年5月8日 星期一 周一");
    const late = new Date("2023-12-31T20:00:00Z");
    expect(dayWords(late, "UTC")).toContain("sunday december 31 2023");
    expect(dayWords(late, "Asia/Shanghai")).toContain("monday january 1 2024");
    expect(() => dayWords(day, "Mars/Olympus")).toThrow(RangeError);
  });

  test.each([
    ["What happened on May 8?", ["may", "8"]],
    ["the 8th of May 2023", ["may", "8", "2023"]],
    ["五月八号去了哪", ["5月", "8日", "5月8日"]],
    ["2023年5月的事", ["2023年", "5月"]],
    ["on a Monday", ["monday"]],
    ["周一聊了什么", ["周一"]],
    ["星期一", ["期一"]],
  ])("shares words with the query %j, and has no word that every day has", (question, shared) => {
    const words = lexicalText(dayWords(day, "UTC")).split(" ");
    expect(words).toEqual(expect.arrayContaining(shared));
    expect(lexicalQuery(question).split(" ")).toEqual(expect.arrayContaining(shared));
    const everyDay = lexicalQuery("星期 周 年 月 日 狗").split(" ");
    expect(words.filter((word) => everyDay.includes(word))).toEqual([]);
  });
});

describe("soughtWords", () => {
  test.each([
    ["the films of Bergman", ["film", "bergman"]],
    ["导演 films", ["film", "导演"]],
    ["猫", ["猫"]],
    ["of the", []],
  ])("gives for %j the words %j", (query, words) => expect(soughtWords(query)).toEqual(words));
});
