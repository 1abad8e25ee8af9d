import { lexicalQuery, WORD_WEIGHT } from "../../text/lexical-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { completeQuestion } from "./complete-question.ts";
import type { RecentMessage } from "./stands-alone.ts";
import { findReference } from "./find-reference.ts";
import type { SearchFilter, SearchHit } from "../../stores/search/contract/search-index.ts";
import { type QuestionTime, timesInEarlierYears } from "../../text/time-of-question.ts";

/** A message of the talk that a search is for, with its weight: 1 for the question. */
export interface TalkMessage {
  text: string;
  weight: number;
}

/** The user's messages before the question. */
const EARLIER_MESSAGES = 3;
const EARLIER_CHARACTERS = 400;
/** The weight of the last message: a remark goes on with its topic, a question may have another. See docs/decisions/0040. */
const WEIGHT = { remark: 0.5, question: 0.25 };
const QUESTION =
  /[?？]|吗|什么|怎么|为何|哪|谁|几|多少|^(?:what|when|where|who|whose|whom|which|how|why|do|does|did|is|are|was|were|can|could|have|has|will|would)\b/iu;

/** The question, completed where it points back, after the user's last messages, each with half the next one's weight. */
export function talkOf(question: string, recent: readonly RecentMessage[]): TalkMessage[] {
  const stands = QUESTION.test(question.trim()) && findReference(question) === null;
  const said = recent.filter(({ role, content }) => role === "user" && !isSmallTalk(content)).slice(-EARLIER_MESSAGES);
  const earlier = said.toReversed().map(({ content }, place): TalkMessage => {
    return { text: content.slice(0, EARLIER_CHARACTERS), weight: (stands ? WEIGHT.question : WEIGHT.remark) / (place === 0 ? 1 : 2) };
  });
  return [{ text: completeQuestion(question, recent), weight: 1 }, ...earlier];
}

/** The query for `searchWords`: a word of several messages counts once, with the highest weight. */
export function talkQuery(talk: readonly TalkMessage[]): string {
  const counts = new Map<string, number>();
  for (const { text, weight } of talk) {
    const ofMessage = new Map<string, number>();
    for (const word of lexicalQuery(text).split(" ")) if (word !== "") ofMessage.set(word, (ofMessage.get(word) ?? 0) + 1);
    for (const [word, count] of ofMessage) counts.set(word, Math.max(counts.get(word) ?? 0, Math.round(count * weight)));
  }
  return [...counts].flatMap(([word, count]) => Array.from({ length: Math.min(count, WORD_WEIGHT) }, () => word)).join(" ");
}

/** The weighted sum of the messages' vectors. A cache has those of earlier turns. */
export async function embedTalk(talk: readonly TalkMessage[], embed: (text: string) => Promise<number[]>): Promise<number[]> {
  const vectors = await Promise.all(talk.map(({ text }) => embed(text)));
  const [first = []] = vectors;
  return first.map((_, place) => vectors.reduce((sum, vector, message) => sum + (talk[message]?.weight ?? 0) * (vector[place] ?? 0), 0));
}

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
