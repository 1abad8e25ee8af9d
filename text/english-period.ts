import { civilDay, type CivilDay, partsOfDay } from "./civil-day.ts";
import { englishDate } from "./english-date.ts";
import { englishMonth, inNamedYear } from "./english-month.ts";
import {
  latestWeekday,
  oneDay,
  type Period,
  periodAgo,
  seasonPeriod,
  span,
  thirdOfPeriod,
  weekendPeriod,
  weekPeriod,
  yearPeriod,
} from "./period.ts";

const WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split(" ");
const NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split(" ");
const COUNT = `\\d{1,3}|${NUMBERS.join("|")}|half an?|an? couple(?: of)?|an? few|few|several|an?`;
const SEASON = "spring|summer|autumn|fall|winter";

type Groups = Partial<Record<string, string>>;
type Rule = [pattern: RegExp, period: (groups: Groups, today: CivilDay, question: string) => Period | null];
type Unit = "day" | "week" | "month" | "year";

function ago({ count = "", unit = "" }: Groups, today: CivilDay): Period | null {
  const word = count.toLowerCase();
  const name = unit.toLowerCase() as Unit;
  if (word.startsWith("half")) return name === "year" ? periodAgo(today, 6, "month", true) : null;
  const vague = /few|several|couple/.test(word);
  const number = word.includes("couple") ? 2 : vague ? 3 : /^an?$/.test(word) ? 1 : NUMBERS.indexOf(word) + 1 || Number(word);
  return periodAgo(today, number, name, vague);
}

function lastFew({ count = "", unit = "" }: Groups, today: CivilDay): Period {
  const number = /few|couple/i.test(count) ? 3 : NUMBERS.indexOf(count.toLowerCase()) + 1 || Number(count);
  const days = { day: 1, week: 7, month: 31, year: 366 }[unit.toLowerCase()] ?? 1;
  return span(today - number * days, today + 1);
}

/** A weekday of last week when one is named, else the week. */
function lastWeek(_groups: Groups, today: CivilDay, question: string): Period {
  const week = weekPeriod(today - 7);
  const weekday = WEEKDAYS.findIndex((name) => new RegExp(`\\b${name}\\b`, "i").test(question));
  return weekday < 0 ? week : oneDay(week.from + weekday);
}

function weekend({ which = "" }: Groups, today: CivilDay): Period {
  const isWeekend = partsOfDay(today).weekday >= 6;
  return weekendPeriod(isWeekend && !/last|past|previous/i.test(which) ? today : today - 7);
}

function season({ which = "", first, second, third }: Groups, today: CivilDay, question: string): Period | null {
  const word = (first ?? second ?? third ?? "").toLowerCase();
  const name = word === "fall" ? "autumn" : (word as "spring" | "summer" | "autumn" | "winter");
  const latest = inNamedYear(question, today, (year) => seasonPeriod(year, name));
  const running = latest !== null && latest.from <= today && today < latest.until;
  return running && /last/i.test(which) ? seasonPeriod(partsOfDay(latest.from).year - 1, name) : latest;
}

function weekday({ which = "", name = "" }: Groups, today: CivilDay): Period {
  const number = WEEKDAYS.indexOf(name.toLowerCase()) + 1;
  return /this/i.test(which) ? oneDay(weekPeriod(today).from + number - 1) : latestWeekday(today, number);
}

/** The first rule that fits counts. */
const RULES: Rule[] = [
  [/\bday before yesterday\b/i, (_groups, today) => oneDay(today - 2)],
  [/\byesterday\b|\blast night\b/i, (_groups, today) => oneDay(today - 1)],
  [new RegExp(`\\b(?<count>${COUNT}) (?<unit>day|week|month|year)s? (?:ago|back|earlier)\\b`, "i"), ago],
  [
    new RegExp(
      `\\b(?:in|over|during|for|from) the (?:last|past) (?<count>few|couple of|\\d{1,3}|${NUMBERS.join("|")}) (?<unit>day|week|month|year)s\\b`,
      "i",
    ),
    lastFew,
  ],
  [/\bthe other (?:day|night|evening)\b/i, (_groups, today) => span(today - 7, today)],
  [/\bthe week before last\b/i, (_groups, today) => weekPeriod(today - 14)],
  [/\bthe month before last\b/i, (_groups, today) => periodAgo(today, 2, "month")],
  [/\b(?:last|past|previous) week\b/i, lastWeek],
  [/\b(?<which>last|past|previous|over the|on the|during the|this past|this) weekend\b/i, weekend],
  [/\b(?:last|previous) month\b/i, (_groups, today) => periodAgo(today, 1, "month")],
  [
    new RegExp(
      `\\b(?<which>last|this|that|in|during|since|in the|during the|over the|early|late|mid)[ -](?<first>${SEASON})\\b|\\b(?<second>${SEASON}) (?:of |in )?(?:(?:19|20)\\d\\d|last year)\\b|\\b(?:last year|(?:19|20)\\d\\d)['’]s (?<third>${SEASON})\\b`,
      "i",
    ),
    season,
  ],
  [new RegExp(`\\b(?<name>${WEEKDAYS.join("|")}) before last\\b`, "i"), (groups, today) => oneDay(weekday(groups, today).from - 7)],
  [
    new RegExp(
      `(?<!\\b(?:every|each|next|coming|for|by|until|till|black|good|easter|ash)\\s)(?:\\b(?<which>this) )?\\b(?<name>${WEEKDAYS.join("|")})\\b`,
      "i",
    ),
    weekday,
  ],
  [/\bthis week\b/i, (_groups, today) => weekPeriod(today)],
  [/\bthis month\b/i, (_groups, today) => periodAgo(today, 0, "month")],
];

const YEARS: Rule[] = [
  [
    /\b(?<part>early|mid|late)[ -](?:in )?(?<year>(?:19|20)\d\d)\b/i,
    ({ part = "", year }) => thirdOfPeriod(yearPeriod(Number(year)), /early/i.test(part) ? 1 : /mid/i.test(part) ? 2 : 3),
  ],
  [/\bthe year before last\b/i, (_groups, today) => yearPeriod(partsOfDay(today).year - 2)],
  [/\blast year\b/i, (_groups, today) => yearPeriod(partsOfDay(today).year - 1)],
  [/\bearlier this year\b/i, (_groups, today) => span(civilDay(partsOfDay(today).year, 1, 1), today + 1)],
  [
    /\b(?:in|since|during|from|until|year|my|our) (?<year>(?:19|20)\d\d)\b(?!\s*(?:[-./:]\d|%|dollars|euros|pounds|yuan|people|km|kilo|miles|meters|steps|words|times|different))/i,
    ({ year }) => yearPeriod(Number(year)),
  ],
];

function firstOf(rules: Rule[], question: string, today: CivilDay): Period | null {
  for (const [pattern, period] of rules) {
    const match = pattern.exec(question);
    const found = match && period(match.groups ?? {}, today, question);
    if (found) return found;
  }
  return null;
}

/** The time an English question names, seen from `today`; null when it names none. */
export function englishPeriod(question: string, today: CivilDay): Period | null {
  return (
    englishDate(question, today) ?? firstOf(RULES, question, today) ?? englishMonth(question, today) ?? firstOf(YEARS, question, today)
  );
}
