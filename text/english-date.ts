import { en, type ParsedComponents } from "chrono-node";
import { civilDay, type CivilDay, partsOfDay } from "./civil-day.ts";
import { inNamedYear } from "./english-month.ts";
import { dayPeriod, oneDay, type Period, span, weekPeriod } from "./period.ts";

/** A month in letters or a year in digits: "1/2" and "3.5" are more often something else. */
const WRITTEN_DATE = /[a-z]{3}|\d{4}/i;
/** The verb: "what may 5 people do". */
const MAY_THE_VERB = /\b(?:i|you|he|she|it|we|they|that|this|what|which|who|there|people) $/i;
const ON_THE_DAY = /\bon the (\d{1,2})(?:st|nd|rd|th)(?=\s*(?:[?.!,]|$|of (this|last) month\b))/i;
const DAY_MS = 86_400_000;

function dayOf(components: ParsedComponents, question: string, today: CivilDay): Period | null {
  const [year, month, day] = [components.get("year") ?? 0, components.get("month") ?? 0, components.get("day") ?? 0];
  if (components.isCertain("year")) return dayPeriod(year, month, day);
  // Without a year chrono-node gives the nearest or the next one; people ask about what was.
  return inNamedYear(question, today, (candidate) => dayPeriod(candidate, month, day));
}

/** "on the 5th": of this month, or of the last one when it has not come yet. */
function dayOfMonth(question: string, today: CivilDay): Period | null {
  const [match, day = "", which] = ON_THE_DAY.exec(question) ?? [];
  if (match === undefined) return null;
  const { year, month, day: now } = partsOfDay(today);
  const back = which === undefined ? (Number(day) > now ? 1 : 0) : which.toLowerCase() === "last" ? 1 : 0;
  const { year: ofYear, month: ofMonth } = partsOfDay(civilDay(year, month - back, 1));
  return dayPeriod(ofYear, ofMonth, Number(day));
}

/** The date a question gives in so many words ("January 11", "2023-05-08", "May 3 to 6", "the week of May 8"), without a year the latest past one. */
export function englishDate(question: string, today: CivilDay): Period | null {
  const reference = { instant: new Date(today * DAY_MS + DAY_MS / 2), timezone: 0 };
  for (const { text, index, start, end } of en.casual.parse(question, reference)) {
    if (
      !WRITTEN_DATE.test(text) ||
      !start.isCertain("month") ||
      !start.isCertain("day") ||
      start.isCertain("hour") !== /\d ?[ap]\.?m|:\d\d|noon/i.test(text)
    )
      continue;
    if (/\b(?:ago|before|earlier|yesterday|today|now|tonight|tomorrow|last|past|next|later|(?:week|month|year)s?)\b/i.test(text)) continue;
    if (/^may\b/.test(text) && MAY_THE_VERB.test(question.slice(0, index))) continue;
    const first = dayOf(start, question, today);
    if (first === null) continue;
    if (/\bweek of (?:the )?$/i.test(question.slice(0, index))) return weekPeriod(first.from);
    const last = end?.isCertain("day") ? dayOf(end, question, today) : null;
    return last !== null && last.from > first.from && last.from - first.from < 366 ? span(first.from, last.until) : oneDay(first.from);
  }
  return dayOfMonth(question, today);
}
