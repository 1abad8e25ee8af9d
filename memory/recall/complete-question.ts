import { lexicalText } from "../../text/lexical-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import { asks } from "../../text/telling-or-asking.ts";
import { findReference, type Pointer } from "./find-reference.ts";
import { type RecentMessage, asksTheSameOf, takesUp, withoutRemarks, wordsOf } from "./stands-alone.ts";

const MESSAGES = 8;
/** Exchanges read for a question about its topic. */
const EXCHANGES = 3;
/** Parts read for a question about a thing. */
const PARTS = 2;
/** Characters of a Chinese part that needs the one before it. */
const SHORT_PART = 5;
const HAN = /\p{Script=Han}/u;
const MAX_WORDS = 60;
const MAX_WORDS_OF_PART = 24;
const MAX_CHARACTERS = 4_000;
const WORD = /\p{Script=Han}{1,2}|[^\s\p{Script=Han}]+/gu;
const NAME = /(?<=[\p{Ll}\d,;:."] )["“]?\p{Lu}\p{L}|^["“]|《|「|“/u;
const LONGEST_DEFINITE = 60;
const DEFINITE =
  /\bthe (?!(?:best|worst|most|least|only|same|next|last|first|main|right|other)\b)(?<word>[a-z]{3,20})\b(?! (?:of|that|which|who|when|where|[ai]|my|we)\b)(?= [a-z]|[?.!]|$)/g;
const OWN_OR_NAMED = /\b(?:my|our|your|his|her|their)\b|(?!^)\b\p{Lu}\p{L}|\p{Script=Han}/u;
/** "The Reintal is long" */
const OF_ONE =
  /^(?!(?:It|This|That|They|There|He|She|You|I|Both|Each|All|One)\b)(?:The )?["“]?\p{Lu}[^\s,.]{0,20}(?: [^\s,.]{1,20}){0,4} (?:is|are|has|have|takes?|costs?|was|does|will|needs?|can|could|suits?)\b/u;

/** Adds at most 60 words of the last two exchanges to a question that points back: "that director you mentioned", "第二个呢", "and him?". */
export function completeQuestion(question: string, recent: readonly RecentMessage[]): string {
  const said = recent.slice(-MESSAGES);
  const asked = withoutRemarks(question);
  if (asksTheSameOf(asked, said)) return question;
  const pointer = findReference(question) ?? findReference(asked) ?? findDefinite(asked, said);
  const words = firstWords(
    (pointer === null ? takenUp(asked, said) : referents(pointer, said, wordsOf(asked, said).said)).join(" "),
    MAX_WORDS,
  );
  return words === "" ? question : `${question} ${words}`;
}

/** False for a question about an item or a thing that was not said lately. */
export function isSureOf(question: string, recent: readonly RecentMessage[]): boolean {
  const pointer = findReference(question);
  return pointer === null || pointer.to === "topic" || findSaid(pointer, recent.slice(-MESSAGES)).length > 0;
}

/** Finds the thing of a question without a name: "Does the bus have Wi-Fi?" */
function findDefinite(question: string, recent: readonly RecentMessage[]): Pointer | null {
  if (question.length > LONGEST_DEFINITE || OWN_OR_NAMED.test(question)) return null;
  const words = [...question.matchAll(DEFINITE)].flatMap(({ groups }) => groups?.["word"] ?? []);
  const word = words.find((one) => partsWith(one, recent).length > 0);
  return word === undefined ? null : { to: "thing", word, wasSaid: true };
}

/** Characters of a sentence that has one of several things and nothing else. */
const LONGEST_CHINESE_OPTION = 12;

/** Two Chinese characters count as one word. */
function firstWords(text: string, count: number): string {
  const words = [...text.matchAll(WORD)];
  const next = words[count];
  return next === undefined ? text : text.slice(0, next.index).trim();
}

const sentencesOf = ({ content }: RecentMessage): string[] =>
  splitSentences(content.slice(0, MAX_CHARACTERS)).filter((sentence) => !isSmallTalk(sentence));

/** Words for a kind of thing, and what such a thing is known by. */
const KINDS: readonly [called: RegExp, knownBy: RegExp][] = [
  [/^(?:films?|movies?|documentary|series|shows?|books?|novels?|songs?|电影|片子|影片|纪录片|剧|书|小说|歌)$/iu, /《|["“]\p{Lu}/u],
  [/^(?:directors?|authors?|writers?|导演|作者|作家)$/iu, /导演|执导|拍|写|著|名作|\b(?:direct|wr[io]te|written|by \p{Lu})/u],
];

const stemOf = (word: string): string => (/^[a-z]{6,}$/.test(word) ? word.slice(0, -2) : word);

function hasThing(sentence: string, thing: string): boolean {
  const wanted = lexicalText(thing)
    .split(" ")
    .filter((part) => part.length > 1 || thing.length === 1);
  const said = lexicalText(sentence).split(" ");
  return wanted.some((part) =>
    said.some((word) => word === part || (part.length > 3 && (word.startsWith(stemOf(part)) || word.endsWith(part)))),
  );
}

/** The part of "这家热闹，那家安静；还有一家很远" that has the thing. */
function narrow(sentence: string, thing: string): string {
  const parts = sentence.split(sentence.includes("；") ? "；" : "，");
  const found = HAN.test(sentence) && parts.length > 2 ? parts.findIndex((part) => hasThing(part, thing)) : -1;
  if (found < 0) return sentence;
  return found > 0 && (parts[found] ?? "").length < SHORT_PART ? parts.slice(found - 1, found + 1).join("，") : (parts[found] ?? "");
}

/** The two latest sentences with the thing. A question brings its answer along. */
function partsWith(thing: string, recent: readonly RecentMessage[]): string[] {
  const [, knownBy] = KINDS.find(([called]) => called.test(thing)) ?? [];
  const find = (isFound: (sentence: string) => boolean): string[] =>
    recent
      .map((message, place) => {
        const found = sentencesOf(message).filter(isFound).toReversed();
        const answer = message.role === "user" && found.some(asks) ? recent[place + 1] : undefined;
        return [...(answer ? sentencesOf(answer).slice(0, 1) : []), ...found];
      })
      .toReversed()
      .flat();
  const named = find((sentence) => hasThing(sentence, thing)).map((sentence) => narrow(sentence, thing));
  return [...new Set(named.length > 0 || !knownBy ? named : find((sentence) => knownBy.test(sentence)))].slice(0, PARTS);
}

const PRONOUN = /\b(?:he|him|his|she|her|they|them|their|it|its|that|those|this)\b|[他她它]|[这那](?!么)/iu;
const isShort = (text: string): boolean => (HAN.test(text) ? text.length <= 12 : text.split(" ").length <= 4);

/** Whether an exchange goes on with the one before: it answers a question, is short, points back or shares words. */
function goesOn(asked: string, [before, answered]: readonly string[]): boolean {
  if (/[?？]\s*$/u.test(answered ?? "") || isShort(asked) || PRONOUN.test(asked)) return true;
  const known = new Set(lexicalText(`${before} ${answered}`).split(" "));
  return lexicalText(asked)
    .split(" ")
    .some((word) => word.length > 1 && known.has(word));
}

/** The topic, latest first: the last exchange, and earlier ones as long as each is continued. */
function topic(recent: readonly RecentMessage[], words: readonly string[] = []): string[] {
  const parts: string[] = [];
  const last = recent.findLastIndex(({ role }) => role === "user");
  for (let place = last; place >= 0 && place > last - 2 * EXCHANGES; place -= 2) {
    const [asked = [], answer = []] = [recent[place], recent[place + 1]].map((message) => (message ? sentencesOf(message) : []));
    const shared = answer.find((sentence) => words.some((word) => hasThing(sentence, word)));
    const named = answer.find((sentence) => NAME.test(sentence)) ?? (place === last ? answer[0] : undefined);
    parts.push(...[named, shared].filter((sentence) => sentence !== undefined), ...asked.slice(0, 2));
    const before = recent.slice(Math.max(0, place - 2), place).map(({ content }) => content.slice(0, MAX_CHARACTERS));
    if (!goesOn(asked.join(" "), before)) break;
  }
  return [...new Set(parts)].map((part) => firstWords(part, MAX_WORDS_OF_PART));
}

/** Completes a question that has no pointing word and cannot be understood alone. */
function takenUp(question: string, recent: readonly RecentMessage[]): string[] {
  const words = recent.length === 0 || !asks(question) ? null : takesUp(question, recent);
  if (words === null) return [];
  const having = words.flatMap((word) => partsWith(word, recent)).map((part) => firstWords(part, MAX_WORDS_OF_PART));
  return [...new Set([...having.slice(0, PARTS), ...topic(recent)])];
}

function findSaid(pointer: Exclude<Pointer, { to: "topic" }>, recent: readonly RecentMessage[]): string[] {
  if (pointer.to === "thing") return partsWith(pointer.word, recent);
  const item = itemAt(pointer.position, recent);
  return item === undefined ? [] : [item];
}

function referents(pointer: Pointer, recent: readonly RecentMessage[], words: readonly string[]): string[] {
  if (pointer.to === "topic") return topic(recent, words);
  const said = findSaid(pointer, recent);
  const isOneOfSeveral = alternatives(recent.at(-1)?.content.slice(0, MAX_CHARACTERS) ?? "").length > 1;
  return said.length > 0 || pointer.to === "item" || pointer.wasSaid || isOneOfSeveral ? said : topic(recent, words);
}

function itemAt(position: number, recent: readonly RecentMessage[]): string | undefined {
  const messages = recent.toReversed().map(({ content }) => content.slice(0, MAX_CHARACTERS));
  const lists = [...messages.map(listItems), ...messages.map(alternatives)];
  return lists.find((items) => items.length > Math.max(1, position))?.at(position);
}

/** Alternatives one after the other: "Oak is hard. Walnut is dark.", "可以叫年糕，或者叫芝麻". */
function alternatives(message: string): string[] {
  const sentences = splitSentences(message);
  if (!HAN.test(message)) return sentences.filter((sentence) => OF_ONE.test(sentence));
  const isOneOf = (part: string): boolean => /^(?:现在|其中)?(?:一[家个种本部款半]|另)/u.test(part);
  for (const several of [sentences, message.split(/[，；。]/u)].map((parts) => parts.filter(isOneOf)))
    if (several.length > 1) return several;
  const parts = sentences.map((sentence) => sentence.split(sentence.includes("；") ? "；" : "，"));
  return (
    parts.find(({ length }) => length > 1) ??
    (sentences.length > 2 && sentences.every(({ length }) => length <= LONGEST_CHINESE_OPTION) ? sentences : [])
  );
}

const MARKED = /^\s*(?:[-*•·]|\(?\d{1,2}[.)、:：]|（\d{1,2}）|[①-⑩]|第?[一二三四五六七八九十]{1,2}[、，,.：:])\s*(\S.*)$/u;
const INLINE_MARK =
  /(?:^|[\s:：;；,，。])(?:\(?[1-9][.)、]|（[1-9]）|[①-⑩]|(?:step|option|tip|number) [1-9][,:.]|第[一二三四五六七八九]步?[，、：,:])\s*/giu;
const LONGEST_ENGLISH = 40;
const LONGEST_CHINESE = 20;

/** Short parts between 、: "红色、蓝色和绿色". */
function chineseSeries(stretch: string): string[] {
  const [first = "", ...others] = stretch.split("、");
  const end = others.findIndex((part) => part === "" || part.length > LONGEST_CHINESE);
  const items = end < 0 ? others : [...others.slice(0, end), others[end]?.slice(0, LONGEST_CHINESE) ?? ""];
  return items.some(Boolean) && first !== "" ? [first.slice(-LONGEST_CHINESE), ...items] : [];
}

/** ", Paris and Oslo", but not "simple and cheap, so it sells". */
const LAST_JOINED = /, (?:[^,]{2,40},? )?(?:and|or) [^,]{2,}$/u;

/** Short parts between commas: "Rome, Paris and Oslo". */
function englishSeries(stretch: string): string[] {
  if (!LAST_JOINED.test(stretch)) return [];
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
