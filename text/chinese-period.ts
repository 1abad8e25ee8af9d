import { chineseNumber, chineseYear } from "./chinese-number.ts";
import { civilDay, partsOfDay, type CivilDay } from "./civil-day.ts";
import {
  dayPeriod,
  latestOf,
  latestWeekday,
  monthPeriod,
  oneDay,
  periodAgo,
  seasonPeriod,
  span,
  thirdOfPeriod,
  weekendPeriod,
  weekPeriod,
  yearPeriod,
  type Period,
  type Season,
} from "./period.ts";

const NUMBER = "(?:\\d{1,2}|[一二三四五六七八九十]{1,3})";
const YEAR =
  "(?<year>(?<!过)去年(?![轻龄纪])|(?<![以之目年])前年(?![轻龄纪])|今年|(?<!\\d)(?:19|20)\\d\\d年|(?<!\\d)\\d\\d年(?=的?\\d{1,2}月)|[一二][零〇一二三四五六七八九]{3}年)";
const WEEK = "(?:周|星期|礼拜)";
const SEASONS: Readonly<Record<string, Season>> = { 春: "spring", 夏: "summer", 秋: "autumn", 冬: "winter" };
const AGO_UNITS: Readonly<Record<string, "day" | "week" | "month" | "year">> = {
  天: "day",
  日: "day",
  周: "week",
  星期: "week",
  礼拜: "week",
  月: "month",
  年: "year",
};

type Groups = Partial<Record<string, string>>;
type Rule = [pattern: RegExp, period: (groups: Groups, today: CivilDay) => Period | null];

/** 去年, 前年, 今年, 2023年; undefined without any. */
function yearOf(text: string | undefined, today: CivilDay): number | undefined {
  const { year } = partsOfDay(today);
  const relative = ["今年", "去年", "前年"].indexOf(text ?? "");
  return text === undefined
    ? undefined
    : relative >= 0
      ? year - relative
      : chineseYear(text.length === 3 ? `20${text.slice(0, 2)}` : text.slice(0, -1));
}

/** How many weeks or months back: 上上 2, 上 1, 这 or 本 0. */
const back = (text = ""): number => text.replace(/[^上]/gu, "").length;

/** 初, 中旬 or 底 of a period. */
function partOf(period: Period, part: string | undefined): Period {
  if (part === undefined) return period;
  return thirdOfPeriod(period, /[初上]/u.test(part) ? 1 : /中/u.test(part) ? 2 : 3);
}

function halfOf(year: number, part: string): Period {
  if (/半/u.test(part))
    return part.startsWith("上") ? span(civilDay(year, 1, 1), civilDay(year, 7, 1)) : span(civilDay(year, 7, 1), civilDay(year + 1, 1, 1));
  return /初/u.test(part) ? span(civilDay(year, 1, 1), civilDay(year, 3, 1)) : span(civilDay(year, 11, 1), civilDay(year + 1, 1, 1));
}

function dayOfMonth(groups: Groups, month: (year: number) => number, today: CivilDay): Period | null {
  const day = chineseNumber(groups.day ?? "");
  const year = yearOf(groups.year, today);
  const ofYear = (candidate: number): Period | null => dayPeriod(candidate, month(candidate), day);
  const first = year === undefined ? latestOf(today, ofYear) : ofYear(year);
  const lastDay = chineseNumber(groups.lastDay ?? "");
  if (first === null || Number.isNaN(lastDay)) return first;
  const { year: firstYear, month: firstMonth } = partsOfDay(first.from);
  const last = dayPeriod(firstYear, groups.lastMonth === undefined ? firstMonth : chineseNumber(groups.lastMonth), lastDay);
  return last !== null && last.from > first.from ? span(first.from, last.until) : first;
}

/** The first rule that fits counts: what is more exact comes first. */
const RULES: Rule[] = [
  [
    new RegExp(`${YEAR}的?(?:今天|同一天)`, "u"),
    ({ year }, today) => {
      const { month, day } = partsOfDay(today);
      return dayPeriod(yearOf(year, today) ?? 0, month, day);
    },
  ],
  [
    new RegExp(
      `(?:${YEAR}的?)?(?<![\\d一二三四五六七八九十])(?<month>${NUMBER})月份?的?(?<day>${NUMBER})[日号](?:[到至~-]|—+)?(?:(?<=[到至~—-])(?:(?<lastMonth>${NUMBER})月)?(?<lastDay>${NUMBER})[日号])?`,
      "u",
    ),
    (groups, today) => dayOfMonth(groups, () => chineseNumber(groups.month ?? ""), today),
  ],
  [
    new RegExp(`(?<which>上上个?|上个?|这个?|本)月的?(?<day>${NUMBER})[日号]`, "u"),
    ({ which, day }, today) => {
      const { year, month } = partsOfDay(civilDay(partsOfDay(today).year, partsOfDay(today).month - back(which), 1));
      return dayPeriod(year, month, chineseNumber(day ?? ""));
    },
  ],
  [
    new RegExp(
      `(?:${YEAR}的?)?(?<![\\d一二三四五六七八九十])(?<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?![饼亮球薪嫂\\d]|天(?!气))份?(?<part>初|底|末|中旬|上旬|下旬)?`,
      "u",
    ),
    ({ year, month, part }, today) => {
      const number = chineseNumber(month ?? "");
      const known = yearOf(year, today);
      const whole = known === undefined ? latestOf(today, (candidate) => monthPeriod(candidate, number)) : monthPeriod(known, number);
      return whole && partOf(whole, part);
    },
  ],
  [
    /(?<![目之以])(?<word>大前天|前天(?!气)|前晚|昨天|昨晚|昨日|昨夜|昨儿)/u,
    ({ word }, today) => oneDay(today - (word === "大前天" ? 3 : word?.startsWith("前") ? 2 : 1)),
  ],
  [/(?<![目之以])前(?:两|几|些)天/u, (_groups, today) => periodAgo(today, 3, "day", true)],
  [
    new RegExp(
      `(?<vague>(?<!十)好?几|半)?(?<count>${NUMBER}|两)?(?:多)?个?(?<unit>天|日|周|星期|礼拜|月|年)(?:之|以)?前(?!年[底初]?的)`,
      "u",
    ),
    ({ vague, count, unit = "" }, today) => {
      if (vague === "半") return unit === "年" ? periodAgo(today, 6, "month", true) : unit === "月" ? periodAgo(today, 2, "week") : null;
      if (vague === undefined && count === undefined) return null;
      return periodAgo(today, vague === undefined ? chineseNumber(count ?? "") : 3, AGO_UNITS[unit] ?? "day", vague !== undefined);
    },
  ],
  [
    new RegExp(`(?<![每下])(?<which>上上个?|上个?|这个?|本)${WEEK}(?<day>[一二三四五六日天末])`, "u"),
    ({ which, day = "" }, today) => {
      const week = weekPeriod(today - 7 * back(which));
      return day === "末"
        ? weekendPeriod(week.from)
        : oneDay(week.from + "一二三四五六日天".replace("日天", "日").indexOf(day === "天" ? "日" : day));
    },
  ],
  [
    new RegExp(
      `(?<![每下个各\\d一二两三四五六七八九十几到至])${WEEK}(?<day>[一二三四五六日天末])(?![到至次]|[^，。？]{0,3}(?:一般|通常|平时|经常|都|总))`,
      "u",
    ),
    ({ day = "" }, today) => {
      if (day !== "末") return latestWeekday(today, "一二三四五六日".indexOf(day === "天" ? "日" : day) + 1);
      const { weekday } = partsOfDay(today);
      return weekendPeriod(weekday >= 6 ? today : today - 7);
    },
  ],
  [
    // "3号我做了什么", yet not a house, a line of the underground or a locker
    /(?<![\d第月])(?<day>[12]?\d|3[01])[号日](?=我|那天|早|晚|上午|下午|中午|发生|聊|说|去|$|[？?，,])/u,
    ({ day = "" }, today) => {
      const { year, month, day: now } = partsOfDay(today);
      const { year: ofYear, month: ofMonth } = partsOfDay(civilDay(year, Number(day) > now ? month - 1 : month, 1));
      return dayPeriod(ofYear, ofMonth, Number(day));
    },
  ],
  [new RegExp(`(?<which>上上个?|上个?|这个?|本)${WEEK}`, "u"), ({ which }, today) => weekPeriod(today - 7 * back(which))],
  [
    /(?<which>上上个?|上个?|这个?|本)月(?<part>初|底|末|中旬|上旬|下旬)?(?![饼亮球])/u,
    ({ which, part }, today) => {
      const { year, month } = partsOfDay(today);
      return partOf(monthPeriod(year, month - back(which)), part);
    },
  ],
  [
    new RegExp(`(?:${YEAR}的?|(?<which>上个?|这个?))(?<season>[春夏秋冬])(?:[天季日]|(?!\\p{Script=Han}))`, "u"),
    ({ year, which, season = "" }, today) => {
      const name = SEASONS[season] ?? "spring";
      const known = yearOf(year, today);
      if (known !== undefined) return seasonPeriod(known, name);
      const latest = latestOf(today, (candidate) => seasonPeriod(candidate, name));
      const running = latest !== null && latest.until > today;
      return which?.startsWith("上") && running ? seasonPeriod(partsOfDay(latest.from).year - 1, name) : latest;
    },
  ],
  [new RegExp(`${YEAR}的?(?<part>年?[初底末]|[上下]半年)`, "u"), ({ year, part = "" }, today) => halfOf(yearOf(year, today) ?? 0, part)],
  [new RegExp(`${YEAR}`, "u"), ({ year }, today) => (year === "今年" ? null : yearPeriod(yearOf(year, today) ?? 0))],
];

/** The time a Chinese question names, seen from `today`; null when it names none. chrono-node knows few of these words, and 去年五月 wrongly. */
export function chinesePeriod(question: string, today: CivilDay): Period | null {
  for (const [pattern, period] of RULES) {
    const match = pattern.exec(question);
    const found = match && period(match.groups ?? {}, today);
    if (found) return found;
  }
  return null;
}
