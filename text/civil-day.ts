/** A day of the calendar without a time zone, as the number of days since 1970-01-01: adding and comparing need no calendar. */
export type CivilDay = number;

const DAY_MS = 86_400_000;

/** Months and days may overflow, as in Date.UTC: month 13 is January of the next year. */
export function civilDay(year: number, month: number, day: number): CivilDay {
  return Date.UTC(year, month - 1, day) / DAY_MS;
}

/** `weekday` is 1 for Monday to 7 for Sunday. */
export function partsOfDay(civil: CivilDay): { year: number; month: number; day: number; weekday: number } {
  const date = new Date(civil * DAY_MS);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate(), weekday: date.getUTCDay() || 7 };
}

const FIELDS = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;

/** The clock that was asked last. To make one takes a hundred times as long as to ask it, and a service has one time zone. */
let clock = { timeZone: "", format: new Intl.DateTimeFormat() };

/** What clocks in the time zone show at this moment, as if it were UTC. */
function wallClock(date: Date, timeZone: string): number {
  if (clock.timeZone !== timeZone) {
    clock = { timeZone, format: new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...FIELDS }) };
  }
  const parts = Object.fromEntries(clock.format.formatToParts(date).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.year ?? 0, (parts.month ?? 1) - 1, parts.day, parts.hour, parts.minute, parts.second);
}

/** The day it is at this moment in the time zone (an IANA name, wrong ones throw RangeError). */
export function dayOfMoment(date: Date, timeZone: string): CivilDay {
  return Math.floor(wallClock(date, timeZone) / DAY_MS);
}

/** The moment at which the day begins in the time zone. */
export function startOfDay(civil: CivilDay, timeZone: string): Date {
  const midnight = civil * DAY_MS;
  let moment = midnight;
  for (let pass = 0; pass < 2; pass++) moment += midnight - wallClock(new Date(moment), timeZone);
  // Where clocks are put forward at midnight, the day begins at one o'clock.
  return new Date(dayOfMoment(new Date(moment), timeZone) < civil ? moment + 3_600_000 : moment);
}

const CHINESE_WEEKDAYS = ["日", "一", "二", "三", "四", "五", "六"];
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const MONTHS = "january february march april may june july august september october november december".split(" ");

/**
 * A day in the words of questions that name it, in English and Chinese, to be part of a text before lexicalText: natural words help
 * recall, ISO dates do not. `timeZone` is an IANA name, wrong ones throw RangeError.
 */
export function dayWords(date: Date, timeZone: string): string {
  const { year, month, day, weekday } = partsOfDay(dayOfMoment(date, timeZone));
  const chinese = CHINESE_WEEKDAYS[weekday % 7];
  return `${WEEKDAYS[weekday % 7]} ${MONTHS[month - 1]} ${day} ${year} ${year}年${month}月${day}日 星期${chinese} 周${chinese}`;
}
