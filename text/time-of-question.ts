import { chinesePeriod } from "./chinese-period.ts";
import { dayOfMoment, startOfDay } from "./civil-day.ts";
import { englishPeriod } from "./english-period.ts";

/** A question that names a time names it in its first words or not at all: what is longer is a text. */
const LONGEST = 1_000;

/** The time a question is about: `until` is the first moment after it. */
export interface QuestionTime {
  from: Date;
  until: Date;
  /** One calendar day of the time zone, or a week, month, season, year. */
  kind: "day" | "span";
}

/**
 * The time that a question names, in English or Chinese: "January 11", "上周三", "last spring"; without a year the latest past one. Null
 * for none, for today and for the future. `timeZone` is an IANA name.
 */
export function timeOfQuestion(question: string, now: Date, timeZone: string): QuestionTime | null {
  const today = dayOfMoment(now, timeZone);
  const text = question.slice(0, LONGEST).normalize("NFKC").replace(/\s+/g, " ");
  const period = (/\p{Script=Han}/u.test(text) ? chinesePeriod(text, today) : null) ?? englishPeriod(text, today);
  if (
    period === null ||
    Number.isNaN(period.from) ||
    period.from > today ||
    (period.kind === "day" && period.from === today && /today|今天/i.test(text))
  )
    return null;
  return { from: startOfDay(period.from, timeZone), until: startOfDay(period.until, timeZone), kind: period.kind };
}
