import { partsOfDay, type CivilDay } from "../../stores/search/civil-day.ts";
import { latestOf, type Period } from "./period.ts";

/** The year that stands beside a month, day or season in a question ("last year", "2023"); undefined without any. */
export function englishYear(question: string, today: CivilDay): number | undefined {
  const { year } = partsOfDay(today);
  if (/\b(?:the year before last|two years ago)\b/i.test(question)) return year - 2;
  if (/\blast year\b/i.test(question)) return year - 1;
  if (/\bthis year\b/i.test(question)) return year;
  const named = /\b(?:19|20)\d\d\b/.exec(question)?.[0];
  return named === undefined ? undefined : Number(named);
}

/** What happens every year, in the year the question names, else in the latest in which it has begun. */
export function inNamedYear(question: string, today: CivilDay, ofYear: (year: number) => Period | null): Period | null {
  const year = englishYear(question, today);
  return year === undefined ? latestOf(today, ofYear) : ofYear(year);
}
