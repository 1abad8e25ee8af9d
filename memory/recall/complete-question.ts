import { lexicalText } from "../../text/lexical-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import { type Pointer, findReference } from "./find-reference.ts";

export interface RecentMessage {
  role: "user" | "assistant";
  content: string;
}

const MESSAGES = 4;
const MAX_WORDS = 60;
const MAX_CHARACTERS = 4_000;
const WORD = /\p{Script=Han}{1,2}|[^\s\p{Script=Han}]+/gu;
const NAME = /(?<=[\p{Ll}\d,;:] )["“]?\p{Lu}\p{L}|《|「|“/u;

/** Adds at most 60 words of the last two exchanges to a question that points back: "that director you mentioned", "第二个呢", "and him?". */
export function completeQuestion(question: string, recent: readonly RecentMessage[]): string {
  const pointer = findReference(question);
  if (pointer === null) return question;
  const words = firstWords(referents(pointer, recent.slice(-MESSAGES)).join(" "), MAX_WORDS);
  return words === "" ? question : `${question} ${words}`;
}

/** Two Chinese characters count as one word. */
function firstWords(text: string, count: number): string {
  const words = [...text.matchAll(WORD)];
  const next = words[count];
  return next === undefined ? text : text.slice(0, next.index).trim();
}

function latestSentences(recent: readonly RecentMessage[]): string[] {
  return recent
    .toReversed()
    .flatMap(({ content }) => splitSentences(content.slice(0, MAX_CHARACTERS)).filter((sentence) => !isSmallTalk(sentence)));
}

function itemAt(position: number, recent: readonly RecentMessage[]): string | undefined {
  const lists = recent.toReversed().map(({ content }) => listItems(content.slice(0, MAX_CHARACTERS)));
  return lists.find((items) => items.length > 1)?.at(position);
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

/** The latest sentence with a name, and the last message of the user. */
function topic(recent: readonly RecentMessage[]): string[] {
  const sentences = latestSentences(recent.slice(-2));
  const named = sentences.find((sentence) => NAME.test(sentence)) ?? sentences[0];
  const asked = latestSentences(recent.filter(({ role }) => role === "user").slice(-1));
  return [...new Set([...(named === undefined ? [] : [named]), ...asked])];
}

function referents(pointer: Pointer, recent: readonly RecentMessage[]): string[] {
  if (pointer.to === "topic") return topic(recent);
  if (pointer.to === "thing") return sentencesWith(pointer.word, recent).slice(0, 2);
  const item = itemAt(pointer.position, recent);
  return item === undefined ? topic(recent) : [item];
}

const MARKED = /^\s*(?:[-*•·]|\(?\d{1,2}[.)、:：]|（\d{1,2}）|[①-⑩]|第?[一二三四五六七八九十]{1,2}[、，,.：:])\s*(\S.*)$/u;
const INLINE_MARK = /(?:^|[\s:：;；,，。])(?:\(?[1-9][.)、]|（[1-9]）|[①-⑩])\s*/gu;
/** Characters of an item in a series. */
const LONGEST_ENGLISH = 40;
const LONGEST_CHINESE = 20;

/** "红色、蓝色和绿色": short parts between 、. */
function chineseSeries(stretch: string): string[] {
  const [first = "", ...others] = stretch.split("、");
  const end = others.findIndex((part) => part === "" || part.length > LONGEST_CHINESE);
  const items = end < 0 ? others : [...others.slice(0, end), others[end]?.slice(0, LONGEST_CHINESE) ?? ""];
  return items.some(Boolean) && first !== "" ? [first.slice(-LONGEST_CHINESE), ...items] : [];
}

/** "Rome, Paris and Oslo": short parts between commas. */
function englishSeries(stretch: string): string[] {
  if (!stretch.includes(", ")) return [];
  const parts = stretch.split(/,? (?:and|or) |, (?:and |or )?/u);
  const others = parts.slice(parts.findLastIndex((part) => part.length < 2 || part.length > LONGEST_ENGLISH) + 1);
  const before = parts[parts.length - others.length - 1] ?? "";
  const items = before.length > LONGEST_ENGLISH ? [before.slice(-LONGEST_ENGLISH), ...others] : others;
  return others.length > 0 && items.length > 1 ? items : [];
}

function firstSeries(stretches: string[], series: (stretch: string) => string[]): string[] {
  return stretches.map(series).find((items) => items.length > 0) ?? [];
}

function inSeries(text: string): string[] {
  const chinese = text.includes("、") ? firstSeries(text.split(/[，。；：！？\s]/u), chineseSeries) : [];
  if (chinese.length > 0) return chinese.flatMap((item) => item.split(/和|或者?|以及/u)).filter(Boolean);
  return firstSeries(text.split(/[.;:!?\n]/u), englishSeries).filter(Boolean);
}

function listItems(message: string): string[] {
  const marked = message.split("\n").flatMap((line) => MARKED.exec(line)?.[1] ?? []);
  if (marked.length > 1) return marked;
  const parts = message.split(INLINE_MARK).slice(1);
  if (parts.length > 1) return parts.map((part) => splitSentences(part)[0] ?? part.trim());
  return inSeries(message);
}
