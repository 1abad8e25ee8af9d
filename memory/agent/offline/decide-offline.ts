import stem from "wink-porter2-stemmer";
import { lexicalText } from "../../../text/lexical-text.ts";
import { DEFAULT_SECTIONS, SECTION_CHARACTERS } from "../core-sections.ts";
import { lineOf, readLine, SECTION_OF, type Fact, type Topic } from "./fact.ts";
import { readChinese } from "./read-chinese.ts";
import { readEnglish } from "./read-english.ts";
import { readMessage, type Change } from "./read-message.ts";

/** The whole new content of a section; "" removes it. */
export interface SectionUpdate {
  section: string;
  content: string;
  reason: string;
}

/** One line of core memory while it is decided on. */
export interface Line {
  section: string;
  text: string;
  /** It was there before the message. */
  isOld: boolean;
  /** The line that was there before, of which it is what the message left. */
  madeOf?: string;
  /** The message says it again. */
  isRepeated?: boolean;
}

/** The lines of a section after a message, which leaves them as they are or not. */
export interface DecidedSection extends SectionUpdate {
  lines: Line[];
  isChanged: boolean;
}

/** What people call a part of core memory when they ask to forget it. */
const CALLED = new Map<string, Topic>([
  ...["my name", "我的名字", "我的姓名", "我叫什么"].map((name): [string, Topic] => [name, "name"]),
  ...["my address", "my home", "my city", "where i live", "我的住址", "我的地址", "我住在哪", "我住在哪里"].map((name): [string, Topic] => [
    name,
    "home",
  ]),
  ...["what i like", "my likes", "my preferences", "我的喜好", "我的爱好"].map((name): [string, Topic] => [name, "taste"]),
]);
const EVERYTHING = new Set([
  "everything",
  "everything about me",
  "everything you know about me",
  "everything you know",
  "我的一切",
  "关于我的一切",
  "所有",
  "全部",
]);
/** The kind of thing at the end of a value: who is tired of science fiction is tired of science fiction films. */
const KINDS = new Set("film movy movi book novel music food show seri thing".split(" "));
const KINDS_CHINESE = ["电影", "小说", "音乐", "片", "剧", "书"];
const DOING_CHINESE = ["吃", "喝", "看", "听", "玩"];

function linesOf(content: string): string[] {
  return content.split(/\r\n|[\n\r\u2028\u2029\u0085]/u).filter((line) => line.trim() !== "");
}

/** A value in a form in which "The jazz music" and "jazz", 看科幻片 and 科幻 are the same. */
function keyOf(value: string): string {
  const plain = value.normalize("NFKC").toLowerCase().trim();
  if (/\p{Script=Han}/u.test(plain)) {
    const doing = DOING_CHINESE.find((word) => plain.startsWith(word) && plain.length > word.length + 1) ?? "";
    const kind = KINDS_CHINESE.find((word) => plain.endsWith(word) && plain.length > doing.length + word.length + 1) ?? "";
    return plain.slice(doing.length, plain.length - kind.length);
  }
  const words = plain.split(/[^\p{L}\p{M}\p{N}]/u).filter((word) => word !== "" && word !== "the" && word !== "a" && word !== "an");
  const stems = words.map((word) => (/^[a-z]{1,40}$/.test(word) ? stem(word) : word));
  return (stems.length > 1 && KINDS.has(stems.at(-1) ?? "") ? stems.slice(0, -1) : stems).join(" ");
}

const keyOfFact = ({ topic, value }: { topic: Topic; value: string }): string =>
  keyOf(topic === "home" ? (value.split(",")[0] ?? value) : value);

/** The values of a line, those of a list taken apart. */
function valuesOf({ topic, value }: { topic: Topic; value: string }): string[] {
  return topic === "taste" ? value.split(/, and |, | and |、|和/u) : [value];
}

/** The line without what the fact contradicts, or null when nothing is left of it. */
function withoutContradicted(line: Line, fact: Fact): Line | null {
  const known = readLine(line.text);
  if (!known || SECTION_OF[known.topic] !== line.section || known.topic !== fact.topic || fact.topic === "note") return line;
  const key = keyOfFact(fact);
  if (fact.topic !== "taste") return fact.value === "" || keyOfFact(known) !== key ? null : line;
  if (fact.value === "") return null;
  if (known.holds === fact.holds) return line;
  const values = valuesOf(known);
  const left = values.filter((value) => keyOf(value) !== key);
  if (left.length === 0) return null;
  const end = line.text.endsWith("。") ? "。" : ".";
  if (left.length === values.length) return line;
  const text = `${known.beginning}${left.join(end === "。" ? "、" : ", ")}${end}`;
  return { ...line, text, ...(line.isOld ? { madeOf: line.madeOf ?? line.text } : {}) };
}

/** The line says the fact, in the words of the rules or in others that have the value in them. */
function says(line: Line, fact: Fact): boolean {
  if (line.section !== SECTION_OF[fact.topic]) return false;
  const known = readLine(line.text);
  const key = keyOfFact(fact);
  if (known)
    return (
      known.topic === fact.topic && known.holds === fact.holds && valuesOf(known).some((value) => keyOfFact({ ...known, value }) === key)
    );
  return (
    fact.topic === "taste" && fact.holds === "yes" && key.length > 1 && ` ${keyOf(line.text)} `.includes(fact.isChinese ? key : ` ${key} `)
  );
}

/** The lines after one fact: what it contradicts goes, and it takes that place or the last one. */
function applyFact(lines: Line[], fact: Fact): Line[] {
  const left = lines.map((line) => withoutContradicted(line, fact));
  const kept = left.filter((line) => line !== null);
  if (fact.holds === "over") return kept;
  const known = kept.find((line) => says(line, fact));
  if (known) return kept.map((line) => (line === known ? { ...line, isRepeated: true } : line));
  const place = left.findIndex((line, index) => line === null && lines[index]?.section === SECTION_OF[fact.topic]);
  const added: Line = { section: SECTION_OF[fact.topic], text: lineOf(fact), isOld: false };
  return (place < 0 ? [...left, added] : left.with(place, added)).filter((line) => line !== null);
}

/** An older message adds what nothing known speaks against. */
function addOlder(lines: Line[], fact: Fact): Line[] {
  const isFree = fact.holds !== "over" && lines.every((line) => withoutContradicted(line, fact) === line);
  return isFree ? applyFact(lines, fact) : lines;
}

/** The lines without what the user asked to forget: a part by its name, a fact, or every line that has all words of it. */
function forget(lines: Line[], asked: string): Line[] {
  const what = asked
    .replace("我说过的", "我的")
    .replace(/(?:这件事|了|please)$/iu, "")
    .trim();
  if (EVERYTHING.has(what.toLowerCase())) return [];
  const topic = CALLED.get(what.toLowerCase());
  if (topic) return applyFact(lines, { topic, holds: "over", value: "", isChinese: false });
  const facts = readEnglish(what, false) ?? readChinese(what, false) ?? [];
  if (facts.length > 0) return facts.reduce((left, fact) => applyFact(left, { ...fact, holds: "over" }), lines);
  const wanted = lexicalText(what.replace(/^我的?/u, ""))
    .split(" ")
    .filter((word) => word !== "");
  if (wanted.length === 0) return lines;
  return lines.filter(({ text }) => {
    const present = new Set(lexicalText(text).split(" "));
    return !wanted.every((word) => present.has(word));
  });
}

function apply(lines: Line[], change: Change, onlyAdd: boolean): Line[] {
  if ("forget" in change) return onlyAdd ? lines : forget(lines, change.forget);
  return onlyAdd ? addOlder(lines, change.fact) : applyFact(lines, change.fact);
}

/** The lines within the limit. What does not fit is left out, the new before the old. */
function fitting(lines: Line[], limit: number): Line[] {
  const kept = new Set<Line>();
  let length = -1;
  for (const line of [...lines.filter(({ isOld }) => isOld), ...lines.filter(({ isOld }) => !isOld)]) {
    if (length + 1 + line.text.length > limit) continue;
    kept.add(line);
    length += 1 + line.text.length;
  }
  return [...new Map(lines.filter((line) => kept.has(line)).map((line) => [line.text, line])).values()];
}

/** What becomes of one section; nothing where lines would go only because it is too long already. */
function decidedOf(section: string, before: string[], decided: Line[], limit: number): DecidedSection[] {
  const own = decided.filter((line) => line.section === section);
  const isOnlyAdded = before.every((text) => own.some((line) => line.text === text));
  if (isOnlyAdded && before.join("\n").length > limit) return [];
  const lines = fitting(own, limit);
  const after = lines.map(({ text }) => text);
  const added = after.filter((line) => !before.includes(line)).map((line) => `added "${line}"`);
  const removed = before.filter((line) => !after.includes(line)).map((line) => `removed "${line}"`);
  const reason = `The user said so: ${[...removed, ...added].join(", ")}`;
  return [{ section, content: after.join("\n"), reason, lines, isChanged: added.length + removed.length > 0 }];
}

/** What a user's message changes in core memory: see decideSections. */
export function decideOffline(...given: Parameters<typeof decideSections>): SectionUpdate[] {
  const changed = decideSections(...given).filter(({ isChanged }) => isChanged);
  return changed.map(({ section, content, reason }) => ({ section, content, reason }));
}

/**
 * What a user's message makes of core memory, by rules alone: a name, a home, likes and dislikes, "remember that" and "forget that", in
 * English or Chinese, from a message that is plainly the user's own. With `onlyAdd` the message is older than what is known: it may fill
 * gaps but replaces and removes nothing.
 */
export function decideSections(
  sections: Readonly<Record<string, string>>,
  userMessage: string,
  { onlyAdd = false, sectionLimit = SECTION_CHARACTERS }: { onlyAdd?: boolean; sectionLimit?: number } = {},
): DecidedSection[] {
  const changes = readMessage(userMessage);
  if (changes.length === 0) return [];
  const known = DEFAULT_SECTIONS.map((section) => ({ section, before: linesOf(sections[section] ?? "") }));
  const lines = known.flatMap(({ section, before }) => before.map((text): Line => ({ section, text, isOld: true })));
  const decided = changes.reduce((left, change) => apply(left, change, onlyAdd), lines);
  return known.flatMap(({ section, before }) => decidedOf(section, before, decided, sectionLimit));
}
