import { lexicalText } from "../../text/lexical-text.ts";
import { splitLines } from "../../text/line-breaks.ts";
import { readMessage } from "./read-message.ts";
import { readStatement, type Fact, type Topic } from "./statements.ts";

/** One line of core memory while it is decided on. */
interface Line {
  section: string;
  text: string;
  /** It was there before the message. */
  isOld: boolean;
  /** The message says it again. */
  isRepeated?: boolean;
}

const SECTION_OF: Readonly<Record<Topic, string>> = { name: "profile", home: "profile", taste: "preferences", note: "profile" };
/** How lines begin. The first English and the first Chinese beginning are the ones that are written. */
const BEGINNINGS: [topic: Topic, holds: Fact["holds"], english: string, chinese: string, ...others: string[]][] = [
  ["name", "yes", "Name: ", "名字：", "The user's name is "],
  ["home", "yes", "Lives in ", "住在", "The user lives in ", "User is based in "],
  ["taste", "no", "Dislikes ", "不喜欢"],
  ["taste", "yes", "Likes ", "喜欢", "Enjoys "],
  ["note", "yes", "Asked to remember: ", "要记住："],
];
/** What people call a part of core memory when they ask to forget it. */
const CALLED: [words: RegExp, topic: Topic][] = [
  [/^(?:my name|我的名字|我的姓名|我叫什么)$/i, "name"],
  [/^(?:my address|my home|my city|where i live|我的住址|我的地址|我住在哪里?)$/i, "home"],
  [/^(?:what i like|my likes|my preferences|我的喜好|我的爱好)$/i, "taste"],
];
const EVERYTHING = /^(?:everything(?: about me| you know| you know about me)?|(?:关于)?我的一切|所有|全部)$/i;

/** What a line of core memory says; null for lines in other words. */
function readLine({ section, text }: Line): Pick<Fact, "topic" | "holds" | "value"> | null {
  const plain = text.trimEnd().replace(/[.。]$/u, "");
  for (const [topic, holds, ...beginnings] of BEGINNINGS) {
    const beginning = beginnings.find((start) => plain.length > start.length && plain.startsWith(start));
    if (beginning !== undefined && SECTION_OF[topic] === section) return { topic, holds, value: plain.slice(beginning.length) };
  }
  return null;
}

function lineOf({ topic, holds, value, isChinese }: Fact): Line {
  const [, , english = "", chinese = ""] = BEGINNINGS.find((row) => row[0] === topic && row[1] === holds) ?? [];
  return { section: SECTION_OF[topic], text: isChinese ? `${chinese}${value}。` : `${english}${value}.`, isOld: false };
}

/** A value in a form in which "The jazz music" and "jazz music", 吃火锅 and 火锅 are the same. */
const keyOf = ({ topic, value }: Pick<Fact, "topic" | "value">): string =>
  lexicalText(topic === "home" ? (value.split(",")[0] ?? "") : value.replace(/^[吃喝看听玩](?=..)/u, "")) || value;

/** A line says the fact, or speaks against it: another name or home, the opposite of a liking. */
function relation(line: Line, fact: Fact): "says" | "against" | "neither" {
  const known = readLine(line);
  if (known?.topic !== fact.topic) return "neither";
  const isSame = keyOf(known) === keyOf(fact);
  if (isSame) return known.holds === fact.holds ? "says" : "against";
  return fact.topic === "name" || fact.topic === "home" ? "against" : "neither";
}

/** The lines after one fact: what speaks against it goes, and it takes that place or the last one. An older message only fills gaps. */
function applyFact(lines: Line[], fact: Fact, onlyAdd: boolean): Line[] {
  const left = lines.filter((line) => relation(line, fact) !== "against");
  if (onlyAdd && (left.length < lines.length || fact.holds === "over")) return lines;
  if (fact.holds === "over") return left;
  if (left.some((line) => relation(line, fact) === "says"))
    return left.map((line) => (relation(line, fact) === "says" ? { ...line, isRepeated: true } : line));
  const place = lines.findIndex((line) => relation(line, fact) === "against");
  return left.toSpliced(place < 0 ? left.length : place, 0, lineOf(fact));
}

/** The lines without what the user asked to forget: a part by its name, a fact, or every line that has all words of it. */
function forget(lines: Line[], asked: string): Line[] {
  const what = asked.replace("我说过的", "我的").replace(/(?:这件事|了| please)$/iu, "");
  if (EVERYTHING.test(what)) return [];
  const topic = CALLED.find(([words]) => words.test(what))?.[1];
  if (topic) return lines.filter((line) => readLine(line)?.topic !== topic);
  const facts = readStatement(what, { isCasual: false, follows: false }) ?? [];
  if (facts.length > 0) return lines.filter((line) => !facts.some((fact) => relation(line, fact) === "says"));
  const wanted = lexicalText(what.replace(/^我的?/u, "")).split(" ");
  return lines.filter(({ text }) => !wanted.every((word) => lexicalText(text).split(" ").includes(word)));
}

/** The lines of a section within the limit. What does not fit is left out, the new before the old. */
function fitting(all: Line[], section: string, limit: number): Line[] {
  const lines = all.filter((line) => line.section === section);
  let length = lines.reduce((sum, { text, isOld }) => sum + (isOld ? text.length + 1 : 0), -1);
  return lines.filter(({ text, isOld }) => {
    if (isOld) return true;
    const fits = length + 1 + text.length <= limit;
    if (fits) length += 1 + text.length;
    return fits;
  });
}

function reasonOf(before: string[], lines: Line[]): string {
  const after = lines.map(({ text }) => text);
  const removed = before.filter((line) => !after.includes(line)).map((line) => `removed "${line}"`);
  const added = after.filter((line) => !before.includes(line)).map((line) => `added "${line}"`);
  return `The user said so: ${[...removed, ...added].join(", ")}`;
}

/**
 * What a user's message makes of core memory, by rules alone: a name, a home, likes and dislikes, "remember that" and "forget that", in
 * English or Chinese, from a message that is plainly the user's own. With `onlyAdd` the message is older than what is known: it may fill
 * gaps but replaces and removes nothing.
 */
export function decideSections(
  sections: Readonly<Record<string, string>>,
  userMessage: string,
  { onlyAdd = false, sectionLimit }: { onlyAdd?: boolean; sectionLimit: number },
): { section: string; lines: Line[]; reason: string }[] {
  const changes = readMessage(userMessage);
  if (changes.length === 0) return [];
  const names = new Set(["profile", "preferences", ...Object.keys(sections)]);
  const linesOf = (section: string): string[] => splitLines(sections[section] ?? "").filter((line) => line.trim() !== "");
  const known = [...names].map((section) => ({ section, before: linesOf(section) }));
  const lines = known.flatMap(({ section, before }) => [...new Set(before)].map((text): Line => ({ section, text, isOld: true })));
  const decided = changes.reduce((left, change) => {
    if ("fact" in change) return applyFact(left, change.fact, onlyAdd);
    return onlyAdd ? left : forget(left, change.forget);
  }, lines);
  return known.map(({ section, before }) => {
    const left = fitting(decided, section, sectionLimit);
    return { section, lines: left, reason: reasonOf(before, left) };
  });
}
