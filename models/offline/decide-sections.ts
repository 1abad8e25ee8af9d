import { lexicalText } from "../../text/lexical-text.ts";
import { splitLines } from "../../text/split-sentences.ts";
import { type Fact, intentOf, INTENTS, LINES } from "./intents.ts";
import { type Change, readMessage, readStatement, valuesOf } from "./read-message.ts";
import { isOf } from "./value-kinds.ts";

/** A line of core memory. */
interface KnownLine {
  section: string;
  text: string;
}

interface Line extends KnownLine {
  /** It was there before the message. */
  isOld: boolean;
  /** The message says it again. */
  isRepeated?: boolean;
}

const EVERYTHING = /^(?:everything(?: about me| you know| you know about me)?|(?:关于)?我的一切|所有|全部)$/i;
const FIRST_PERSON: Readonly<Record<string, string>> = { is: "am", has: "have", does: "do" };

/** "The user hates dill" and "Loves jazz", as models write, in the user's own words. */
function asSaid(line: string): string {
  return line
    .replace(/^用户/u, "我")
    .replace(/^(?:the )?user's /i, "my ")
    .replace(/^(?:(?:the )?user )?(\w{1,20}s)\b/i, (_, verb: string) => `I ${FIRST_PERSON[verb.toLowerCase()] ?? verb.slice(0, -1)}`);
}

/** What a line says; null for lines in other words. */
export function readLine({ section, text }: KnownLine): Fact | null {
  const isChinese = /^\P{L}*\p{Script=Han}/u.test(text);
  for (const { intent, holds, words, isLoose } of LINES) {
    const { value, thing } = (intent.section === section && words.exec(text.trim())?.groups) || {};
    if (value !== undefined && (!isLoose || (intent.value && isOf(intent.value, value))))
      return { topic: intent.topic, holds, value, isChinese, ...(thing && { thing: thing.toLowerCase() }) };
  }
  const [fact, ...others] = readStatement(asSaid(text.trim().replace(/[.。]$/u, ""))) ?? [];
  const intent = fact && others.length === 0 && intentOf(fact.topic);
  return intent && intent.section === section ? fact : null;
}

function lineOf({ topic, holds, value, isChinese, thing = "" }: Fact): Line {
  const intent = intentOf(topic);
  const words = ((holds === "no" ? intent?.dislike : intent?.line) ?? "").split(" ; ")[isChinese ? 1 : 0] ?? "";
  const said = words.replace("lives?", thing.endsWith("s") ? "live" : "lives").replace("~", () => thing);
  const text = said.replace("…", () => value) + (isChinese ? "。" : ".");
  return { section: intent?.section ?? "", text: text.slice(0, 1).toUpperCase() + text.slice(1), isOld: false };
}

/** The same for "The jazz music" and "jazz music", 吃火锅 and 火锅. Names are not stemmed. */
function keyOf({ topic, value }: Pick<Fact, "topic" | "value">): string {
  if (!intentOf(topic)?.isMany) return (topic === "home" ? (value.split(",")[0] ?? "") : value).toLowerCase().replace(/^the /, "");
  return lexicalText(value.replace(/^[吃喝看听玩](?=..)/u, "")) || value;
}

/** Against it are another name, home or language, and the opposite of a liking. */
function relation(line: KnownLine, fact: Fact): "says" | "against" | "neither" {
  const known = readLine(line);
  if (known?.topic !== fact.topic || known.thing !== fact.thing) return "neither";
  const intent = intentOf(fact.topic);
  const isSame = keyOf(known) === keyOf(fact);
  if (fact.holds === "over") return isSame && known.holds === (intent?.dislike === undefined ? "yes" : "no") ? "against" : "neither";
  if (isSame) return known.holds === fact.holds ? "says" : "against";
  return intent?.isMany ? "neither" : "against";
}

/** Whether a line is what a question asks for, and else what of the line the words of a question are compared with. */
export function answersOf(question: string, line: KnownLine): { isAsked: boolean; words: string } {
  const known = readLine(line);
  const asked = known ? intentOf(known.topic)?.asked : undefined;
  return { isAsked: asked?.test(question) === true, words: known && asked ? known.value : line.text };
}

/** Whether core memory says otherwise than what the user said earlier, or that only asked to forget something. */
export function isContradicted(sentence: string, lines: readonly KnownLine[]): boolean {
  const isAgainst = (fact: Fact): boolean => lines.some((line) => relation(line, fact) === "against");
  return readMessage(sentence).some((change) => "forget" in change || ("fact" in change && isAgainst(change.fact)));
}

/** Removes lines that contradict a fact. The fact takes the place of the first of them, or comes last. */
function applyFact(lines: Line[], fact: Fact, onlyAdd: boolean): Line[] {
  const relations = lines.map((line) => relation(line, fact));
  const place = relations.indexOf("against");
  if (onlyAdd && (place >= 0 || fact.holds === "over")) return lines;
  const marked = lines.map((line, index) => (relations[index] === "says" ? { ...line, isRepeated: true } : line));
  const left = marked.filter((_, index) => relations[index] !== "against");
  if (fact.holds === "over" || relations.includes("says")) return left;
  return left.toSpliced(place < 0 ? left.length : place, 0, lineOf(fact));
}

/** The lines without what the user wants forgotten: a part by its name, a fact, or every line that has all words of it. */
function forget(lines: Line[], asked: string): Line[] {
  const what = asked.replace("我说过的", "我的").replace(/(?:这件事|[忘删]?[掉了吧]| please)$/iu, "");
  if (EVERYTHING.test(what)) return [];
  const topic = INTENTS.find(({ called }) => called?.test(what))?.topic;
  if (topic) return lines.filter((line) => readLine(line)?.topic !== topic);
  const facts = readStatement(what) ?? [];
  if (facts.length > 0) return lines.filter((line) => !facts.some((fact) => relation(line, fact) === "says"));
  const wanted = lexicalText(what.replace(/^我的?/u, "")).split(" ");
  return lines.filter(({ text }) => !wanted.every((word) => lexicalText(text).split(" ").includes(word)));
}

/** What one of the lines says becomes another value. */
function correct(lines: Line[], instead: string, of: string): Line[] {
  const known = lines.map(readLine).find((fact) => fact && !intentOf(fact.topic)?.isMany && keyOf(fact) === keyOf({ ...fact, value: of }));
  const intent = known && intentOf(known.topic);
  const [value] = intent ? valuesOf(intent, instead) : [];
  return known && value !== undefined ? applyFact(lines, { ...known, value }, false) : lines;
}

function applyChanges(lines: Line[], changes: readonly Change[], onlyAdd = false): Line[] {
  return changes.reduce((left, change) => {
    if ("fact" in change) return applyFact(left, change.fact, onlyAdd);
    if (onlyAdd) return left;
    return "forget" in change ? forget(left, change.forget) : correct(left, change.instead, change.of);
  }, lines);
}

/** Old lines all fit; new ones as long as there is room. */
function fitting(all: Line[], section: string, limit: number): Line[] {
  const lines = all.filter((line) => line.section === section);
  let length = lines.reduce((sum, { text, isOld }) => sum + (isOld ? text.length + 1 : 0), -1);
  return lines.filter(({ text, isOld }) => {
    if (isOld) return true;
    if (length + 1 + text.length > limit) return false;
    length += 1 + text.length;
    return true;
  });
}

function reasonOf(before: string[], lines: Line[]): string {
  const after = lines.map(({ text }) => text);
  const removed = before.filter((line) => !after.includes(line)).map((line) => `removed "${line}"`);
  const added = after.filter((line) => !before.includes(line)).map((line) => `added "${line}"`);
  return `The user said so: ${[...removed, ...added].join(", ")}`;
}

/**
 * What a user's message makes of core memory, by rules: INTENTS, how the user wants to be answered, "remember that", "forget that" and "not
 * Rose, Rosa", in English or Chinese. With `onlyAdd`, for a message older than what is known, it replaces and removes nothing.
 */
export function decideSections(
  sections: Readonly<Record<string, string>>,
  userMessage: string,
  { onlyAdd = false, sectionLimit }: { onlyAdd?: boolean; sectionLimit: number },
): { section: string; lines: Line[]; reason: string }[] {
  const changes = readMessage(userMessage);
  if (changes.length === 0) return [];
  const names = new Set([...INTENTS.map((intent) => intent.section), ...Object.keys(sections)]);
  const linesOf = (section: string): string[] => splitLines(sections[section] ?? "").filter((line) => line.trim() !== "");
  const known = [...names].map((section) => ({ section, before: linesOf(section) }));
  const lines = known.flatMap(({ section, before }) => [...new Set(before)].map((text): Line => ({ section, text, isOld: true })));
  const decided = applyChanges(lines, changes, onlyAdd);
  return known.map(({ section, before }) => {
    const left = fitting(decided, section, sectionLimit);
    return { section, lines: left, reason: reasonOf(before, left) };
  });
}

/** The lines of core memory when messages that are newer than it have been read. */
export const linesAfter = (lines: readonly KnownLine[], messages: readonly string[]): KnownLine[] =>
  messages.reduce(
    (before, message) => applyChanges(before, readMessage(message)),
    lines.map((line): Line => ({ ...line, isOld: true })),
  );
