import { type CivilDay, partsOfDay } from "./civil-day.ts";
import { latestOf, monthPeriod, type Period, thirdOfPeriod } from "./period.ts";

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

const MONTHS = "january february march april may june july august september october november december".split(" ");
/** A month's name needs one of these before it or a year behind it: April, May, June and August are people, "may" and "march" verbs. */
const NAMED = new RegExp(
  `\\b(?:(?<before>in|last|this|during|since|early|late|mid|around|(?:end|beginning|start|middle|month) of)[ -](?:(?<part>early|late|mid)[ -])?)?(?<month>${MONTHS.join("|")})\\b(?:,? (?:of )?(?<year>(?:19|20)\\d\\d)\\b)?`,
  "gi",
);

function monthOf(question: string, today: CivilDay, month: number, before: string): Period | null {
  const { year, month: now } = partsOfDay(today);
  if (before === "this") return monthPeriod(year, month);
  if (before === "last" && month === now) return monthPeriod(year - 1, month);
  return inNamedYear(question, today, (candidate) => monthPeriod(candidate, month));
}

/** The month a question names ("in March", "early May 2023", "last June"), without a year the latest that has begun. */
export function englishMonth(question: string, today: CivilDay): Period | null {
  for (const { 0: text, groups = {}, index } of question.matchAll(NAMED)) {
    const before = groups.before?.toLowerCase() ?? "";
    const name = groups.month ?? "";
    if (before === "" && groups.year === undefined) continue;
    // "this may be", "the last may go"
    if (/^(?:this|last)$/.test(before) && /^(?:may|march)$/.test(name) && /^ [a-z]/i.test(question.slice(index + text.length))) continue;
    const whole = monthOf(question, today, MONTHS.indexOf(name.toLowerCase()) + 1, before);
    const part = `${before} ${groups.part ?? ""}`.toLowerCase();
    if (/early|beginning|start/.test(part)) return whole && thirdOfPeriod(whole, 1);
    if (/mid/.test(part)) return whole && thirdOfPeriod(whole, 2);
    return whole && (/late|end/.test(part) ? thirdOfPeriod(whole, 3) : whole);
  }
  return null;
}
