import { en, type ParsedComponents, type ParsedResult } from "chrono-node";
import { chineseTimesInEnglish } from "./chinese-times.ts";
import { aroundDay, type CivilDay, civilDay, dayOfCalendar, dayOfMoment, months, oneDay } from "./days.ts";
import { partsOfDay, type Period, span, startOfDay, weekOf } from "./days.ts";

/** Characters searched: a question names its time early. */
const LONGEST = 1_000;
const DAY_MS = 86_400_000;
/** First months on the northern half. A winter belongs to the year in which it begins. */
const SEASONS: Readonly<Record<string, number>> = { spring: 3, summer: 6, autumn: 9, fall: 9, winter: 12 };
const SEASON =
  /\b(?:(?<which>last|this|that|in|during|since|in the|during the|over the|early|late|mid|last year['’]s|\d{4}['’]s)[ -])?(?<name>spring|summer|autumn|fall|winter)\b(?<year> (?:of |in )?(?:\d{4}|last year))?/gi;
const YEAR =
  /\b(?<before>in|since|during|from|until|year|my|our|early|mid|late|(?:start|end) of)[ -](?:in )?(?<year>(?:19|20)\d\d)\b(?!\s*(?:[-./:]\d|%|dollars|euros|pounds|yuan|people|km|kilo|miles|meters|steps|words|times|different))/i;
/** April and June are people, "may" and "march" verbs: a month needs one of these before it, or a year after it. */
const BEFORE_A_MONTH = /\b(?:in|last|this|during|since|early|late|mid|around|(?:end|beginning|start|middle|month) of)[ -]$/i;
const VERB_AFTER = /\b(?:i|you|he|she|it|we|they|that|this|what|which|who|there|people) $/i;
const EACH_OR_NEXT = /\b(?:every|each|next|coming|for|by|until|till|black|good|easter|ash) $/i;
/** A month in letters or a year: "1/2" and "3.5" are rarely dates. */
const WRITTEN = /[a-z]{3}|\d{4}/i;
const NO_TIME = /\b(?:now|today|tonight|next|later|weekend|(?:sun|mon|tue|wed|thu|fri|sat)\b)/i;
const CLOCK = /\d ?[ap]\.?m|:\d\d|noon/i;

/** `until` is the first moment after the time. */
export interface QuestionTime {
  from: Date;
  until: Date;
  kind: "day" | "span";
}

/** The period in the question's year, else the latest that has begun. */
function inItsYear(question: string, today: CivilDay, ofYear: (year: number) => Period | null): Period | null {
  const { year } = partsOfDay(today);
  const named = /\b(?:this year|last year|(?:two|2) years ago|(?:19|20)\d\d)\b/i.exec(question)?.[0].toLowerCase();
  if (named !== undefined) return ofYear(Number(named) || year - (named.startsWith("this") ? 0 : named.startsWith("last") ? 1 : 2));
  return Array.from({ length: 9 }, (_, back) => ofYear(year - back)).find((period) => period && period.from <= today) ?? null;
}

function partOf(period: Period | null, before: string): Period | null {
  const [word] = /(?:early|mid|late|beginning of|start of|middle of|end of)(?=(?: in)?[ -]?$)/i.exec(before) ?? [];
  if (period === null || word === undefined) return period;
  const third = Math.round((period.until - period.from) / 3);
  if (/^(?:ea|b|s)/i.test(word)) return span(period.from, period.from + third);
  return span(/^m/i.test(word) ? period.from + third : period.until - third, period.until - (/^m/i.test(word) ? third : 0));
}

/** Reads weeks, weekends, seasons and days of this month, which chrono-node misreads. */
function readCalendar(question: string, today: CivilDay, found: ParsedResult[]): Period | null {
  const { year, month, day, weekday } = partsOfDay(today);
  if (/\bthe other (?:day|night|evening)\b/i.test(question)) return span(today - 7, today);
  const weeks = [/\bthis week\b/i, /\b(?:last|past) week\b/i, /\bthe week before last\b/i].findIndex((words) => words.test(question));
  const named = found.find(({ start, text }) => start.isCertain("weekday") && !NO_TIME.test(text))?.start.get("weekday");
  if (weeks >= 0) return typeof named === "number" ? oneDay(weekOf(today - 7 * weeks).from + ((named + 6) % 7)) : weekOf(today - 7 * weeks);
  const weekend = /\b(?:last|past|over the|on the|during the|this) weekend\b/i.exec(question)?.[0];
  const { until } = weekOf(weekday >= 6 && !/last|past/i.test(weekend ?? "") ? today : today - 7);
  if (weekend !== undefined) return span(until - 2, until);
  const season = [...question.matchAll(SEASON)].map(({ groups }) => groups).find((groups) => groups?.which ?? groups?.year);
  const latest = season ? inItsYear(question, today, (one) => months(one, SEASONS[season.name?.toLowerCase() ?? ""] ?? 0, 3)) : null;
  if (latest && /^last$/i.test(season?.which ?? "") && today < latest.until) return span(latest.from - 365, latest.until - 365);
  const { date, of } =
    /\bon the (?<date>\d{1,2})(?:st|nd|rd|th)(?=\s*(?:[?.!,]|$|of (?<of>this|last) month\b))/i.exec(question)?.groups ?? {};
  const before = partsOfDay(civilDay(year, month - Number(of ? /last/i.test(of) : Number(date) > day), 1));
  return latest ?? (date === undefined ? null : dayOfCalendar(before.year, before.month, Number(date)));
}

function readFound(question: string, today: CivilDay, { text, index, start, end }: ParsedResult): Period | null {
  const [before, after] = [question.slice(0, index), question.slice(index + text.length)];
  if (!WRITTEN.test(text) || NO_TIME.test(text) || (/^may\b/.test(text) && VERB_AFTER.test(before))) return null;
  if (start.isCertain("hour") !== CLOCK.test(text)) return null;
  const { year, month, day, weekday } = partsOfDay(today);
  const exact = Math.floor(start.date().getTime() / DAY_MS);
  const [, unit, isPlural, ago] = /(day|week|month|year)(s?)( (?:ago|earlier|before))?$/i.exec(text.toLowerCase()) ?? [];
  // chrono-node gives May 1 for a month before May 31.
  const then = unit === "month" && partsOfDay(exact).day < day ? exact - partsOfDay(exact).day : exact;
  if (unit && !ago && isPlural && /^(?:last|past) /i.test(text)) return span(then, today + 1);
  if (unit && (ago || /^(?:last|past) (?:month|year)$/i.test(text))) return aroundDay(then, unit, /few|couple|half/i.test(text));
  const dayOf = (parts: ParsedComponents): Period | null => {
    const ofYear = (one: number): Period | null => dayOfCalendar(one, parts.get("month") ?? 0, parts.get("day") ?? 0);
    // Without a year chrono-node gives the nearest or next one; people ask about the past.
    return parts.isCertain("year") ? ofYear(parts.get("year") ?? 0) : inItsYear(question, today, ofYear);
  };
  if (start.isCertain("day")) {
    const [first, last] = [dayOf(start), end?.isCertain("day") ? dayOf(end) : null];
    if (first && /\bweek of (?:the )?$/i.test(before)) return weekOf(first.from);
    return first && last && last.from > first.from && last.from - first.from < 366 ? span(first.from, last.until) : first;
  }
  if (start.isCertain("weekday")) {
    if (EACH_OR_NEXT.test(before)) return null;
    const number = start.get("weekday") || 7;
    if (/^this /i.test(text)) return oneDay(weekOf(today).from + number - 1);
    return oneDay(today - ((weekday - number + 6) % 7) - (/^ before last\b/i.test(after) ? 8 : 1));
  }
  const named = start.isCertain("month") ? (start.get("month") ?? 0) : 0;
  if (named === 0 || !(start.isCertain("year") || BEFORE_A_MONTH.test(before))) return null;
  if (/\blast $/i.test(before) && named === month) return months(year - 1, month);
  return partOf(
    start.isCertain("year") ? months(start.get("year") ?? 0, named) : inItsYear(question, today, (one) => months(one, named)),
    before,
  );
}

/** The past time in an English or Chinese question: "January 11", "上周三", "last spring". Null for none, today and the future. */
export function timeOfQuestion(text: string, now: Date, timeZone: string): QuestionTime | null {
  const today = dayOfMoment(now, timeZone);
  const asked = text.slice(0, LONGEST).normalize("NFKC").replace(/\s+/g, " ");
  const question = (/\p{Script=Han}/u.test(asked) ? chineseTimesInEnglish(asked, today) : asked)
    .replace(/\bprevious\b/gi, "last")
    .replace(/\bseveral\b/gi, "a few")
    .replace(/(?<=\b(?:day|week|month|year)s?) back\b/gi, " ago")
    .replace(/\bthe (month|year) before last\b/gi, "2 $1s ago")
    .replace(/(?<=\b(?:last|early|mid|late|of|since|during) )May\b(?! \d)/g, "in May");
  const found = en.casual.parse(question, { instant: new Date(today * DAY_MS + DAY_MS / 2), timezone: 0 });
  const { before = "", year } = YEAR.exec(question)?.groups ?? {};
  const ofYear = / of$/i.test(before) ? months(Number(year), /^s/i.test(before) ? 1 : 11, 2) : partOf(months(Number(year), 1, 12), before);
  const times = [
    ...found.filter(({ start, text }) => start.isCertain("day") && /\d/.test(text)).map((one) => readFound(question, today, one)),
    readCalendar(question, today, found),
    ...found.map((one) => readFound(question, today, one)),
    year === undefined ? null : ofYear,
  ];
  const period = times.find((time) => time !== null && time.from <= today);
  if (!period) return null;
  return { from: startOfDay(period.from, timeZone), until: startOfDay(period.until, timeZone), kind: period.kind };
}

const NAMES_A_YEAR = /\d{4}|\byears?\b|年/i;
/** Longer than any month. */
const MONTH_DAYS = 31;

/**
 * The same time in earlier years, latest first, ending after `earliest`: "May 3" may mean an older one. Empty when the question names a
 * year or a distance from today.
 */
export function timesInEarlierYears(
  { text, time, now, timeZone }: { text: string; time: QuestionTime; now: Date; timeZone: string },
  earliest: Date,
): QuestionTime[] {
  const isSame = (days: number): boolean =>
    timeOfQuestion(text, new Date(now.getTime() + days * DAY_MS), timeZone)?.from.getTime() === time.from.getTime();
  if (NAMES_A_YEAR.test(text) || !(isSame(MONTH_DAYS) || isSame(-MONTH_DAYS))) return [];
  const years = time.until.getUTCFullYear() - earliest.getUTCFullYear();
  const back = (date: Date, count: number): Date => new Date(new Date(date).setUTCFullYear(date.getUTCFullYear() - count));
  return Array.from({ length: Math.max(0, years) }, (_, place) => ({
    ...time,
    from: back(time.from, place + 1),
    until: back(time.until, place + 1),
  })).filter(({ until }) => until > earliest);
}
