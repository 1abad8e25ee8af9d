const DIGITS: Readonly<Record<string, number>> = { 一: 1, 二: 2, 三: 3, 四: 4, 五: 5, 六: 6, 七: 7, 八: 8, 九: 9 };
const DATE_UNITS = /(\d{1,4}|[一二三四五六七八九十]{1,3})([月日号])(?!份?[饼亮球])/gu;
const COUNTED = /(?<!\d)(\d+)(\p{Script=Han})/gu;
const DAY = /(\d{1,2})月(\d{1,2})日/gu;

/** 1 to 99 from digits or Chinese numerals: "二十一" is 21. */
function toNumber(text: string): number {
  if (/^\d/.test(text)) return Number(text);
  const [tens, ones] = text.includes("十") ? text.split("十") : ["", text];
  if (!text.includes("十")) return DIGITS[ones ?? ""] ?? 0;
  return (tens === "" ? 1 : (DIGITS[tens ?? ""] ?? 0)) * 10 + (DIGITS[ones ?? ""] ?? 0);
}

/**
 * Numbers with the Chinese character that says what they count, each as one word; dates also when written in Chinese numerals, and
 * month with day: "五月8号" gives 5月 8日 5月8日.
 */
export function countedWords(text: string): string[] {
  const dates = text.replace(DATE_UNITS, (whole, number: string, unit: string) => {
    const value = toNumber(number);
    return value > 0 ? `${value}${unit === "号" ? "日" : unit}` : whole;
  });
  const words = [...dates.matchAll(COUNTED)].map(([, number = "", unit = ""]) => `${number.slice(0, 12)}${unit}`);
  for (const [, month = "", day = ""] of dates.matchAll(DAY)) words.push(`${Number(month)}月${Number(day)}日`);
  return words;
}
