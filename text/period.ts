import { civilDay, partsOfDay, type CivilDay } from "./civil-day.ts";

/** Days from `from` on and before `until`. */
export interface Period {
  from: CivilDay;
  until: CivilDay;
  kind: "day" | "span";
}

export type Season = "spring" | "summer" | "autumn" | "winter";

/** First months, as in the northern half of the world; a winter is that of the year in which it begins. */
const FIRST_MONTH: Readonly<Record<Season, number>> = { spring: 3, summer: 6, autumn: 9, winter: 12 };

export const span = (from: CivilDay, until: CivilDay): Period => ({ from, until, kind: "span" });
export const oneDay = (day: CivilDay): Period => ({ from: day, until: day + 1, kind: "day" });
export const yearPeriod = (year: number): Period => span(civilDay(year, 1, 1), civilDay(year + 1, 1, 1));
export const monthPeriod = (year: number, month: number): Period => span(civilDay(year, month, 1), civilDay(year, month + 1, 1));
export const seasonPeriod = (year: number, season: Season): Period =>
  span(civilDay(year, FIRST_MONTH[season], 1), civilDay(year, FIRST_MONTH[season] + 3, 1));

/** Monday to Sunday around a day. */
export function weekPeriod(day: CivilDay): Period {
  const monday = day - partsOfDay(day).weekday + 1;
  return span(monday, monday + 7);
}

/** Saturday and Sunday of the week around a day. */
export function weekendPeriod(day: CivilDay): Period {
  const { until } = weekPeriod(day);
  return span(until - 2, until);
}

/** The first, middle or last third of a period. */
export function thirdOfPeriod({ from, until }: Period, third: 1 | 2 | 3): Period {
  const length = Math.round((until - from) / 3);
  if (third === 1) return span(from, from + length);
  return third === 2 ? span(from + length, until - length) : span(until - length, until);
}

/** The day of the calendar, null when it has none such: February 30. */
export function dayPeriod(year: number, month: number, day: number): Period | null {
  const civil = civilDay(year, month, day);
  const parts = partsOfDay(civil);
  return parts.month === month && parts.day === day ? oneDay(civil) : null;
}

/** What happens every year, in the latest year in which it has begun by `today`. */
export function latestOf(today: CivilDay, ofYear: (year: number) => Period | null): Period | null {
  const { year } = partsOfDay(today);
  for (let back = 0; back < 9; back++) {
    const period = ofYear(year - back);
    if (period !== null && period.from <= today) return period;
  }
  return null;
}

/** The latest such weekday (1 for Monday) before today. */
export function latestWeekday(today: CivilDay, weekday: number): Period {
  return oneDay(today - ((partsOfDay(today).weekday - weekday + 6) % 7) - 1);
}

/** So many units before today; `vague` ("a few") takes one more of them on either side. */
export function periodAgo(today: CivilDay, count: number, unit: "day" | "week" | "month" | "year", vague = false): Period {
  const { year, month } = partsOfDay(today);
  const reach = vague ? 1 : 0;
  if (unit === "day") return vague ? span(today - count - 2, today - count + 2) : oneDay(today - count);
  if (unit === "week") return span(today - count * 7 - 3 - reach * 7, today - count * 7 + 4 + reach * 7);
  if (unit === "month") return span(civilDay(year, month - count - reach, 1), civilDay(year, month - count + 1 + reach, 1));
  return span(civilDay(year - count - reach, 1, 1), civilDay(year - count + 1 + reach, 1, 1));
}
