import type { SearchFilter, SearchHit } from "../../stores/search/contract/search-index.ts";
import { type QuestionTime, timesInEarlierYears } from "../../text/time-of-question.ts";

export const laterOf = (one: Date | undefined, other: Date | undefined): Date | undefined =>
  one && other && other > one ? other : (one ?? other);
const earlierOf = (one: Date | undefined, other: Date): Date => (one && one < other ? one : other);

export function withinDay(filter: SearchFilter, { from, until }: QuestionTime): SearchFilter {
  return { ...filter, from: laterOf(filter.from, from), until: earlierOf(filter.until, until) };
}

/** The named time; if nothing was said in it, the latest earlier year in which something was. */
export function inTalk(named: Parameters<typeof timesInEarlierYears>[0], hits: readonly SearchHit[]): QuestionTime {
  const has = ({ from, until }: QuestionTime): boolean => hits.some(({ createdAt }) => createdAt >= from && createdAt < until);
  if (hits.length === 0 || has(named.time)) return named.time;
  const earliest = new Date(Math.min(...hits.map(({ createdAt }) => createdAt.getTime())));
  return timesInEarlierYears(named, earliest).find(has) ?? named.time;
}
