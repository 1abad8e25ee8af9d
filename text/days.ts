/** A calendar day without a time zone, in days since 1970-01-01. */
export type CivilDay = number;

const DAY_MS = 86_400_000;

/** Months and days may overflow as in Date.UTC. */
export function civilDay(year: number, month: number, day: number): CivilDay {
  return Date.UTC(year, month - 1, day) / DAY_MS;
}

/** `weekday` is 1 for Monday to 7 for Sunday. */
export function partsOfDay(civil: CivilDay): { year: number; month: number; day: number; weekday: number } {
  const date = new Date(civil * DAY_MS);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate(), weekday: date.getUTCDay() || 7 };
}

const FIELDS = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;

/** Making a format takes a hundred times as long as using it. */
let clock = { timeZone: "", format: new Intl.DateTimeFormat() };

function wallClock(date: Date, timeZone: string): number {
  if (clock.timeZone !== timeZone) {
    clock = { timeZone, format: new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...FIELDS }) };
  }
  const parts = Object.fromEntries(clock.format.formatToParts(date).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.year ?? 0, (parts.month ?? 1) - 1, parts.day, parts.hour, parts.minute, parts.second);
}

/** Throws RangeError for an unknown IANA name. */
export function dayOfMoment(date: Date, timeZone: string): CivilDay {
  return Math.floor(wallClock(date, timeZone) / DAY_MS);
}

/** As 2026-11-29. */
export const isoDay = (civil: CivilDay): string => new Date(civil * DAY_MS).toISOString().slice(0, 10);

export function startOfDay(civil: CivilDay, timeZone: string): Date {
  const midnight = civil * DAY_MS;
  let moment = midnight;
  for (let pass = 0; pass < 2; pass++) moment += midnight - wallClock(new Date(moment), timeZone);
  // Where clocks are put forward at midnight, the day begins at one o'clock.
  return new Date(dayOfMoment(new Date(moment), timeZone) < civil ? moment + 3_600_000 : moment);
}

export const CHINESE_WEEKDAYS = ["日", "一", "二", "三", "四", "五", "六"];
export const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
export const MONTHS = "january february march april may june july august september october november december".split(" ");

/** The words by which English and Chinese questions name a day, added to a text before `lexicalText`. */
export function dayWords(date: Date, timeZone: string): string {
  const { year, month, day, weekday } = partsOfDay(dayOfMoment(date, timeZone));
  const chinese = CHINESE_WEEKDAYS[weekday % 7];
  return `${WEEKDAYS[weekday % 7]} ${MONTHS[month - 1]} ${day} ${year} ${year}年${month}月${day}日 星期${chinese} 周${chinese}`;
}

export interface Period {
  from: CivilDay;
  until: CivilDay;
  kind: "day" | "span";
}

export const span = (from: CivilDay, until: CivilDay): Period => ({ from, until, kind: "span" });
export const oneDay = (day: CivilDay): Period => ({ from: day, until: day + 1, kind: "day" });
export const months = (year: number, month: number, count = 1): Period => span(civilDay(year, month, 1), civilDay(year, month + count, 1));

export function weekOf(day: CivilDay): Period {
  const monday = day - partsOfDay(day).weekday + 1;
  return span(monday, monday + 7);
}

/** Null for February 30. */
export function dayOfCalendar(year: number, month: number, day: number): Period | null {
  const civil = civilDay(year, month, day);
  return partsOfDay(civil).month === month && day > 0 ? oneDay(civil) : null;
}

/** The period of "two months ago", `day` being exactly that. "A few" widens it on both sides. */
export function aroundDay(day: CivilDay, unit: string, isVague: boolean): Period {
  const { year, month } = partsOfDay(day);
  const reach = isVague ? 1 : 0;
  if (unit === "day") return isVague ? span(day - 2, day + 2) : oneDay(day);
  if (unit === "week") return span(day - 3 - reach * 7, day + 4 + reach * 7);
  return unit === "month" ? months(year, month - reach, 1 + reach * 2) : months(year - reach, 1, 12 + reach * 24);
}
