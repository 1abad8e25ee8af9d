import { lexicalText } from "../../text/lexical-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import { listItems } from "./list-items.ts";
import { pointingBack, type Pointer } from "./pointing-back.ts";

export interface RecentMessage {
  role: "user" | "assistant";
  content: string;
}

/** Two exchanges: what is further back is not what "that one" means. */
const MESSAGES = 4;
const MAX_WORDS = 60;
const MAX_CHARACTERS = 4_000;
const WORD = /\p{Script=Han}{1,2}|[^\s\p{Script=Han}]+/gu;
const NAME = /(?<=[\p{Ll}\d,;:] )["“]?\p{Lu}\p{L}|《|「|“/u;

/** The beginning of the text with so many words; two Chinese characters count as one. */
function firstWords(text: string, count: number): string {
  const words = [...text.matchAll(WORD)];
  const next = words[count];
  return next === undefined ? text : text.slice(0, next.index).trim();
}

/** Sentences of what was said last, the latest message first, each message in its order. */
function latestSentences(recent: readonly RecentMessage[]): string[] {
  return recent
    .toReversed()
    .flatMap(({ content }) => splitSentences(content.slice(0, MAX_CHARACTERS)).filter((sentence) => !isSmallTalk(sentence)));
}

function itemOf(position: number, recent: readonly RecentMessage[]): string | undefined {
  for (const { content } of recent.toReversed()) {
    const items = listItems(content.slice(0, MAX_CHARACTERS));
    if (items.length > 1) return items.at(position);
  }
  return undefined;
}

function sentencesWith(word: string, recent: readonly RecentMessage[]): string[] {
  const wanted = lexicalText(word)
    .split(" ")
    .filter((part) => part.length > 1 || word.length === 1);
  return latestSentences(recent).filter((sentence) => {
    const words = new Set(lexicalText(sentence).split(" "));
    return wanted.some((part) => words.has(part));
  });
}

/** The latest sentence with a name in it, and what the user said last. */
function topic(recent: readonly RecentMessage[]): string[] {
  const sentences = latestSentences(recent.slice(-2));
  const named = sentences.find((sentence) => NAME.test(sentence)) ?? sentences[0];
  const asked = latestSentences(recent.filter(({ role }) => role === "user").slice(-1));
  return [...new Set([...(named === undefined ? [] : [named]), ...asked])];
}

function meant(pointer: Pointer, recent: readonly RecentMessage[]): string[] {
  if (pointer.to === "topic") return topic(recent);
  if (pointer.to === "thing") return sentencesWith(pointer.word, recent).slice(0, 2);
  const item = itemOf(pointer.position, recent);
  return item === undefined ? topic(recent) : [item];
}

/**
 * A question that points back ("that director you mentioned", "第二个呢", "and him?"), followed by at most 60 words of the last two exchanges
 * that say what it means. Any other question, and one whose thing was not said lately, is returned as it is.
 */
export function completeQuestion(question: string, recent: readonly RecentMessage[]): string {
  const pointer = pointingBack(question);
  if (pointer === null) return question;
  const words = firstWords(meant(pointer, recent.slice(-MESSAGES)).join(" "), MAX_WORDS);
  return words === "" ? question : `${question} ${words}`;
}
