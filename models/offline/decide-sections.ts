import { lexicalText } from "../../text/lexical-text.ts";
import { splitLines } from "../../text/split-sentences.ts";
import { WISHES } from "../../turn/state.ts";
import { readOwnThing } from "./read-own-thing.ts";
import { readMessage, readStatement, type Fact, type Topic } from "./read-message.ts";

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

const SECTION_OF: Readonly<Record<Topic, string>> = {
  name: "profile",
  home: "profile",
  taste: "preferences",
  own: "profile",
  note: "profile",
  language: WISHES,
  manner: WISHES,
};
/** Another value takes the place of the one before. */
const ONE_AT_A_TIME: readonly Topic[] = ["name", "home", "own", "language"];
/** How lines begin. The first English and the first Chinese beginning are the ones that are written. */
const BEGINNINGS: [topic: Topic, holds: Fact["holds"], english: string, chinese: string, ...others: string[]][] = [
  ["name", "yes", "Name: ", "名字：", "The user's name is "],
  ["home", "yes", "Lives in ", "住在", "The user lives in ", "User is based in "],
  ["taste", "no", "Dislikes ", "不喜欢"],
  ["taste", "yes", "Likes ", "喜欢", "Enjoys "],
  ["note", "yes", "Asked to remember: ", "要记住："],
  ["language", "yes", "Answer in ", "回答语言："],
  ["manner", "yes", "Always ", "每次都要"],
];
const CALLED: [words: RegExp, topic: Topic][] = [
  [/^(?:my name|我的名字|我的姓名|我叫什么)$/i, "name"],
  [/^(?:my address|my home|my city|where i live|我的住址|我的地址|我住在哪里?)$/i, "home"],
  [/^(?:what i like|my likes|my preferences|我的喜好|我的爱好)$/i, "taste"],
];
const EVERYTHING = /^(?:everything(?: about me| you know| you know about me)?|(?:关于)?我的一切|所有|全部)$/i;

/** Questions for what one line alone can tell, in words that it lacks. */
const ASKED: [words: RegExp, topic: Topic][] = [
  [/\bmy name\b|\bam i called\b|\bwho am i\b|我叫什么|我的(?:名字|姓名)|我是谁/i, "name"],
  [
    /\b(?:do|did|are|am) (?:i|we) (?:\w+ )?(?:live|living|based)\b|\bmy (?:home|address|city|town)\b|我们?(?:现在|目前|到底|还|是)*住|我的?(?:家|住址|地址)/i,
    "home",
  ],
];

const FIRST_PERSON: Readonly<Record<string, string>> = { is: "am", has: "have", does: "do" };

/** "The user hates dill" and "Loves jazz", as models write, in the user's own words. */
function asSaid(line: string): string {
  if (/^用户/u.test(line)) return line.replace(/^用户/u, "我");
  return line.replace(
    /^(?:(?:the )?user )?(\w{1,20}s)\b/i,
    (_, verb: string) => `I ${FIRST_PERSON[verb.toLowerCase()] ?? verb.slice(0, -1)}`,
  );
}

/** What a line says; null for lines in other words. */
export function readLine({ section, text }: KnownLine): Pick<Fact, "topic" | "holds" | "value" | "about"> | null {
  const plain = text.trim().replace(/[.。]$/u, "");
  for (const [topic, holds, ...beginnings] of BEGINNINGS) {
    const beginning = beginnings.find((start) => plain.length > start.length && plain.startsWith(start));
    if (beginning !== undefined && SECTION_OF[topic] === section) return { topic, holds, value: plain.slice(beginning.length) };
  }
  const own =
    section === SECTION_OF.own
      ? (readOwnThing(`my ${plain.replace(/^(?:the )?user's /i, "")}`) ?? readOwnThing(`我的${plain}`) ?? readOwnThing(`我${plain}`))
      : null;
  if (own) return { topic: "own", holds: "yes", ...own };
  const [fact, ...others] = readStatement(asSaid(plain), { isCasual: false, follows: false }) ?? [];
  return fact && others.length === 0 && SECTION_OF[fact.topic] === section ? fact : null;
}

function lineOf({ topic, holds, value, isChinese, about }: Fact): Line {
  if (about !== undefined)
    return { section: SECTION_OF[topic], text: `${about.replace("…", value)}${isChinese ? "。" : "."}`, isOld: false };
  const [, , english = "", chinese = ""] = BEGINNINGS.find((row) => row[0] === topic && row[1] === holds) ?? [];
  return { section: SECTION_OF[topic], text: isChinese ? `${chinese}${value}。` : `${english}${value}.`, isOld: false };
}

/** The same for "The jazz music" and "jazz music", 吃火锅 and 火锅. */
const keyOf = ({ topic, value }: Pick<Fact, "topic" | "value">): string =>
  lexicalText(topic === "home" ? (value.split(",")[0] ?? "") : value.replace(/^[吃喝看听玩](?=..)/u, "")) || value;

/** Against it are another name, home or language, and the opposite of a liking. */
function relation(line: KnownLine, fact: Fact): "says" | "against" | "neither" {
  const known = readLine(line);
  if (known?.topic !== fact.topic || known.about !== fact.about) return "neither";
  const isSame = keyOf(known) === keyOf(fact);
  if (isSame && fact.topic === "taste" && fact.holds === "over") return known.holds === "no" ? "against" : "neither";
  if (isSame) return known.holds === fact.holds ? "says" : "against";
  return ONE_AT_A_TIME.includes(fact.topic) ? "against" : "neither";
}

/** Whether a line is what a question asks for, and else what of the line the words of a question are compared with. */
export function answersOf(question: string, line: KnownLine): { isAsked: boolean; words: string } {
  const known = readLine(line);
  const isAsked = ASKED.some(([words, topic]) => topic === known?.topic && words.test(question));
  return { isAsked, words: known?.topic === "name" || known?.topic === "home" ? known.value : line.text };
}

/** Whether core memory says otherwise than what the user said earlier. */
export function isContradicted(sentence: string, lines: readonly KnownLine[]): boolean {
  return readMessage(sentence).some((change) => "fact" in change && lines.some((line) => relation(line, change.fact) === "against"));
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
  const what = asked.replace("我说过的", "我的").replace(/(?:这件事|了| please)$/iu, "");
  if (EVERYTHING.test(what)) return [];
  const topic = CALLED.find(([words]) => words.test(what))?.[1];
  if (topic) return lines.filter((line) => readLine(line)?.topic !== topic);
  const facts = readStatement(what, { isCasual: false, follows: false }) ?? [];
  if (facts.length > 0) return lines.filter((line) => !facts.some((fact) => relation(line, fact) === "says"));
  const wanted = lexicalText(what.replace(/^我的?/u, "")).split(" ");
  return lines.filter(({ text }) => !wanted.every((word) => lexicalText(text).split(" ").includes(word)));
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
 * What a user's message makes of core memory, by rules: a name, a home, likes and dislikes, how the user wants to be answered, "remember
 * that" and "forget that", in English or Chinese. With `onlyAdd`, for a message older than what is known, it replaces and removes nothing.
 */
export function decideSections(
  sections: Readonly<Record<string, string>>,
  userMessage: string,
  { onlyAdd = false, sectionLimit }: { onlyAdd?: boolean; sectionLimit: number },
): { section: string; lines: Line[]; reason: string }[] {
  const changes = readMessage(userMessage);
  if (changes.length === 0) return [];
  const names = new Set([...Object.values(SECTION_OF), ...Object.keys(sections)]);
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
