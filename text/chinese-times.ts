import { CHINESE_WEEKDAYS, civilDay, MONTHS, partsOfDay, WEEKDAYS, type CivilDay } from "./days.ts";

const DIGITS = "零一二三四五六七八九";
const NUMERAL = "[零〇一二两三四五六七八九十]";
const SEASONS: Readonly<Record<string, string>> = { 春: "spring", 夏: "summer", 秋: "autumn", 冬: "winter" };
const UNITS: Readonly<Record<string, string>> = { 天: "day", 日: "day", 周: "week", 星期: "week", 礼拜: "week", 月: "month", 年: "year" };
const WEEK = "(?:周|星期|礼拜)";
const WHICH = "(上上个?|上个?|这个?|本)";

/** The number in digits or in Chinese numerals below 100 ("十二"); else NaN. */
export function chineseNumber(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  const [, first = "", ten, last = ""] = /^([一二两三四五六七八九])?(十)?([零〇一二两三四五六七八九])?$/.exec(text) ?? [];
  const digitOf = (numeral: string): number => DIGITS.indexOf(numeral.replace("两", "二").replace("〇", "零"));
  if (ten === undefined) return first + last === "" || (first && last) ? Number.NaN : digitOf(first + last);
  return (first === "" ? 1 : digitOf(first)) * 10 + (last === "" ? 0 : digitOf(last));
}

/** Weeks or months back: 上上 2, 上 1, 这 or 本 0. */
const back = (which: string): number => which.replace(/[^上]/gu, "").length;
const weekday = (character: string): string => WEEKDAYS[CHINESE_WEEKDAYS.indexOf(character === "天" ? "日" : character)] ?? "weekend";
const third = (character = ""): string =>
  character === "" ? "" : /[初上]/u.test(character) ? "early" : /中/u.test(character) ? "mid" : "late";
const monthNamed = (number: string): string => MONTHS[Number(number) - 1] ?? "";

function monthBefore(today: CivilDay, count: number): string {
  const { year, month } = partsOfDay(civilDay(partsOfDay(today).year, partsOfDay(today).month - count, 1));
  return `${year}年${month}月`;
}

type Rewriting = [pattern: RegExp, write: (...groups: string[]) => string];

const inDigits = (today: CivilDay, { year, month, day, weekday: now } = partsOfDay(today)): Rewriting[] => [
  [new RegExp(`(?:这个?|本)(?=${WEEK}末)`, "gu"), () => (now < 6 ? "下" : "")],
  [
    new RegExp(`(?<!${WEEK}|${NUMERAL})${NUMERAL}{1,3}(?=多?个?(?:[月日号天周年]|星期|礼拜))`, "gu"),
    (numeral) => String(chineseNumber(numeral) || numeral),
  ],
  [new RegExp(`[一二]${NUMERAL}{3}(?=年)`, "gu"), (numerals) => [...numerals].map(chineseNumber).join("")],
  [/(?<!过)去年(?![轻龄纪])/gu, () => `${year - 1}年`],
  [/(?<![以之目年])前年(?![轻龄纪])/gu, () => `${year - 2}年`],
  [/今年(?=的?(?:今天|同一天|\d{1,2}月|[春夏秋冬]|年?[初底末]))/gu, () => `${year}年`],
  [/(?<!\d)(?=\d\d年的?\d{1,2}月)/gu, () => "20"],
  [/(?<=年)的?(?:今天|同一天)/gu, () => `${month}月${day}日`],
  [new RegExp(`${WHICH}月(?![饼亮球])`, "gu"), (_all, which) => monthBefore(today, back(which))],
];

/** Times in English, the more exact ones first. */
const IN_ENGLISH: Rewriting[] = [
  [/(?<!\d)(\d{1,2})月份?的?(?=\d{1,2}[日号])/gu, (_all, number) => monthNamed(number)],
  [/(?<=\p{L} )(\d{1,2})[日号](?:[到至~-]|—+)(?:(?=[a-z ]*\d)(?!\d+ ))/gu, (_all, number) => `${number} to`],
  [/(?<=\p{L} {1,2}|to )(\d{1,2})[日号]/gu, (_all, number) => number],
  [
    /(?<!\d)(1[0-2]|0?[1-9])月(?![饼亮球薪嫂\d]|天(?!气))份?(初|底|末|中旬|上旬|下旬)?/gu,
    (_all, number, part) => `${third(part)} in ${monthNamed(number)}`,
  ],
  [/(?<![目之以])大前天/gu, () => "3 days ago"],
  [/(?<![目之以])(?:前天(?!气)|前晚)/gu, () => "the day before yesterday"],
  [/昨[天晚日夜儿]/gu, () => "yesterday"],
  [/(?<![目之以])前[2几些]天/gu, () => "a few days ago"],
  [/半年(?:之|以)?前/gu, () => "half a year ago"],
  [
    /((?<!十)好?几|(?<!\d)\d{1,2})多?个?(天|日|周|星期|礼拜|月|年)(?:之|以)?前(?!年[底初]?的)/gu,
    (_all, count, unit) => `${/几/u.test(count) ? "a few" : count} ${UNITS[unit]}s ago`,
  ],
  [
    new RegExp(`(?<![每下])${WHICH}${WEEK}([一二三四五六日天末]?)`, "gu"),
    (_all, which, name) => {
      const week = ["this week", "last week", "the week before last"][back(which)] ?? "";
      if (name === "末") return `${week}end`;
      return `${name === "" ? "" : weekday(name)} ${week}`;
    },
  ],
  [
    new RegExp(
      `(?<![每下个各\\d一二两三四五六七八九十几到至])${WEEK}([一二三四五六日天末])(?![到至次]|[^，。？]{0,3}(?:一般|通常|平时|经常|都|总))`,
      "gu",
    ),
    (_all, name) => `on ${name === "末" ? "the weekend" : weekday(name)}`,
  ],
  // "3号我做了什么", but no house, underground line or locker
  [
    /(?<![\d第月])([12]?\d|3[01])[号日](?=我|那天|早|晚|上午|下午|中午|发生|聊|说|去|$|[？?，,])/gu,
    (_all, number) => `on the ${number}th?`,
  ],
  [/(?<=年的?|上个?)([春夏秋冬])(?:[天季日]|(?!\p{Script=Han}))/gu, (_all, season) => `in ${SEASONS[season]}`],
  [/(\d{4})年的?年?([初底末])/gu, (_all, named, end) => `${end === "初" ? "start" : "end"} of ${named}`],
  [/(?<!\d)((?:19|20)\d\d)年/gu, (_all, named) => `in ${named}`],
];

/** Puts the times of a Chinese question into English: chrono-node knows few of them. */
export function chineseTimesInEnglish(question: string, today: CivilDay): string {
  const counted = inDigits(today).reduce((text, [pattern, write]) => text.replace(pattern, write), question);
  const english = IN_ENGLISH.reduce(
    (text, [pattern, write]) => text.replace(pattern, (...groups: string[]) => ` ${write(...groups)} `),
    counted,
  );
  return english.replace(/ +/g, " ");
}
