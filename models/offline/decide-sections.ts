import { lexicalText } from "../../text/lexical-text.ts";
import { splitLines } from "../../text/split-sentences.ts";
import { type Fact, INTENTS, LINES } from "./intents.ts";
import { type Change, readMessage, readStatement, valuesOf } from "./read-message.ts";
import { isOf } from "./value-kinds.ts";

interface Line {
  section: string;
  text: string;
  isNew?: true;
  isRepeated?: true;
}

const EVERYTHING = /^(?:everything(?: about me| you know| you know about me)?|(?:关于)?我的一切|所有|全部)$/i;
const FIRST_PERSON: Readonly<Record<string, string>> = { is: "am", has: "have", does: "do" };

/** Turns "The user hates dill" and "Loves jazz", as models write, into the user's own words. */
const asSaid = (line: string): string =>
  line
    .replace(/^用户|^(?:the )?user's /iu, (whose) => (whose === "用户" ? "我" : "my "))
    .replace(/^(?:(?:the )?user )?(\w{1,20}s)\b/i, (_, verb: string) => `I ${FIRST_PERSON[verb.toLowerCase()] ?? verb.slice(0, -1)}`);

/** The fact of a line, or null. */
export function readLine({ section, text }: Line): Fact | null {
  for (const { intent, holds, words, isLoose } of LINES) {
    const { value, thing = "" } = (intent.section === section && words.exec(text.trim())?.groups) || {};
    if (value !== undefined && (!isLoose || (intent.value && isOf(intent.value, value))))
      return { intent, holds, value, isChinese: /^\P{L}*\p{Script=Han}/u.test(text), thing: thing.toLowerCase() };
  }
  const [fact, ...others] = readStatement(asSaid(text.trim().replace(/[.。]$/u, ""))) ?? [];
  return fact?.intent.section === section && others.length === 0 ? fact : null;
}

function lineOf({ intent: { section, line }, holds, value, isChinese, thing }: Fact): Line {
  const words = line.split(" ; ")[(holds === "no" ? 2 : 0) + (isChinese ? 1 : 0)] ?? "";
  const said = words.replace("lives?", thing.endsWith("s") ? "live" : "lives").replace("~", () => thing);
  const text = said.slice(0, 1).toUpperCase() + said.slice(1) + (isChinese ? "。" : ".");
  return { section, text: text.replace("…", () => value), isNew: true };
}

/** Equal for "The jazz music" and "jazz music", 吃火锅 and 火锅. Names are not stemmed. */
function keyOf({ intent: { topic, isMany }, value }: Fact): string {
  if (!isMany) return (topic === "home" ? (value.split(",")[0] ?? "") : value).toLowerCase().replace(/^the /, "");
  return lexicalText(value.replace(/^[吃喝看听玩](?=..)/u, "")) || value;
}

/** Another name, home or language, or the opposite liking, is against a fact. */
function relation(line: Line, fact: Fact): "says" | "against" | "neither" {
  const { intent, holds, thing } = fact;
  const known = readLine(line);
  if (known?.intent !== intent || known.thing !== thing) return "neither";
  const isSame = keyOf(known) === keyOf(fact);
  if (holds === "over") return isSame && known.holds === (intent.no ? "no" : "yes") ? "against" : "neither";
  if (isSame) return known.holds === holds ? "says" : "against";
  return intent.isMany ? "neither" : "against";
}

/** Whether a line is what a question asks for, and otherwise which of its words to compare. */
export function answersOf(question: string, line: Line): { isAsked: boolean; words: string } {
  const known = readLine(line);
  const asked = known?.intent.asked;
  return { isAsked: asked?.test(question) === true, words: known && asked ? known.value : line.text };
}

/** Whether core memory contradicts what the user said earlier, or the user only asked to forget. */
export function isContradicted(sentence: string, lines: readonly Line[]): boolean {
  const isAgainst = (fact: Fact): boolean => lines.some((line) => relation(line, fact) === "against");
  return readMessage(sentence).some((change) => "forget" in change || ("fact" in change && isAgainst(change.fact)));
}

/** Removes lines that contradict a fact. The fact replaces the first of them, or comes last. */
function applyFact(lines: Line[], fact: Fact, onlyAdd: boolean): Line[] {
  const relations = lines.map((line) => relation(line, fact));
  const place = relations.indexOf("against");
  if (onlyAdd && (place >= 0 || fact.holds === "over")) return lines;
  const left = lines.filter((_, index) => relations[index] !== "against");
  if (relations.includes("says")) return left.map((line) => (relation(line, fact) === "says" ? { ...line, isRepeated: true } : line));
  return fact.holds === "over" ? left : left.toSpliced(place < 0 ? left.length : place, 0, lineOf(fact));
}

/** The lines without what the user wants forgotten: a named part, a fact, or every line with all its words. */
function forget(lines: Line[], asked: string): Line[] {
  const what = asked.replace("我说过的", "我的").replace(/(?:这件事|[忘删]?[掉了吧]| please)$/iu, "");
  if (EVERYTHING.test(what)) return [];
  const named = INTENTS.find(({ asked, called }) => [asked, called].some((name) => name?.exec(what)?.[0] === what));
  if (named) return lines.filter((line) => readLine(line)?.intent !== named);
  const facts = readStatement(what) ?? [];
  if (facts.length > 0) return lines.filter((line) => !facts.some((fact) => relation(line, fact) === "says"));
  const wanted = lexicalText(what.replace(/^我的?/u, "")).split(" ");
  return lines.filter(({ text }) => !wanted.every((word) => lexicalText(text).split(" ").includes(word)));
}

/** Changes the value in a line. */
function correct(lines: Line[], instead: string, of: string): Line[] {
  const known = lines.map(readLine).find((fact) => fact && !fact.intent.isMany && keyOf(fact) === keyOf({ ...fact, value: of }));
  return known ? valuesOf(known.intent, instead).reduce((left, value) => applyFact(left, { ...known, value }, false), lines) : lines;
}

function applyChanges(lines: Line[], changes: readonly Change[], onlyAdd = false): Line[] {
  return changes.reduce((left, change) => {
    if ("fact" in change) return applyFact(left, change.fact, onlyAdd);
    if (onlyAdd) return left;
    return "forget" in change ? forget(left, change.forget) : correct(left, change.instead, change.of);
  }, lines);
}

/** Old lines all fit; new ones while there is room. */
function fitting(lines: Line[], limit: number): Line[] {
  let room = lines.reduce((left, { text, isNew }) => (isNew ? left : left - text.length - 1), limit);
  return lines.filter(({ text, isNew }) => {
    if (!isNew || text.length > room) return !isNew;
    room -= text.length + 1;
    return true;
  });
}

/**
 * Applies a user's message to core memory by rules: INTENTS, wishes for answers, "remember that", "forget that" and "not Rose, Rosa", in
 * English or Chinese. With `onlyAdd`, for a message older than what is known, it replaces and removes nothing.
 */
export function decideSections(
  sections: Readonly<Record<string, string>>,
  userMessage: string,
  { onlyAdd = false, sectionLimit }: { onlyAdd?: boolean; sectionLimit: number },
): { section: string; lines: Line[] }[] {
  const changes = readMessage(userMessage);
  if (changes.length === 0) return [];
  const names = [...new Set([...INTENTS.map(({ section }) => section), ...Object.keys(sections)])];
  const linesOf = (section: string): Line[] => [...new Set(splitLines(sections[section] ?? ""))].map((text) => ({ section, text }));
  const known = names.flatMap(linesOf).filter(({ text }) => text.trim() !== "");
  const decided = Map.groupBy(applyChanges(known, changes, onlyAdd), ({ section }) => section);
  return names.map((section) => ({ section, lines: fitting(decided.get(section) ?? [], sectionLimit) }));
}

/** The lines of core memory after these newer messages. */
export const linesAfter = (lines: readonly Line[], messages: readonly string[]): Line[] =>
  messages.reduce((before, message) => applyChanges(before, readMessage(message)), [...lines]);
