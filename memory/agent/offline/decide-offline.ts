import { splitSentences } from "../../summary/split-sentences.ts";
import { DEFAULT_SECTIONS, SECTION_CHARACTERS } from "../core-sections.ts";
import { applyFact } from "./apply-fact.ts";
import { fitLines, type CoreLine } from "./core-lines.ts";
import type { Fact } from "./fact.ts";
import { factsInClause } from "./facts-in-clause.ts";
import { forgetLines } from "./forget-lines.ts";
import { isTrustworthy } from "./is-trustworthy.ts";
import { noteToRemember } from "./note-to-remember.ts";
import { ownWords } from "./own-words.ts";
import { plainWording } from "./plain-wording.ts";
import { requestOfMemory } from "./request-of-memory.ts";
import { statedClauses } from "./stated-clauses.ts";

/** The whole new content of a section; "" removes it. */
export interface SectionUpdate {
  section: string;
  content: string;
  reason: string;
}

type Change = { fact: Fact } | { forget: string };

/** Sentences that are looked at, and characters of each: more was hardly typed for this conversation. */
const SENTENCES = 20;
const LONGEST = 400;

function changesIn(sentence: string, isCasual: boolean): Change[] {
  const request = requestOfMemory(sentence);
  if (request?.wants === "forget") return [{ forget: request.what }];
  const clauses = statedClauses(request?.what ?? sentence);
  const facts = clauses.flatMap((clause) => factsInClause(clause, isCasual));
  const note = request && facts.length === 0 && clauses.length > 0 ? noteToRemember(request.what) : null;
  return (note ? [note] : facts).map((fact) => ({ fact }));
}

/** "I changed jobs" says that the old one is over, even after the new one in the same message. */
function firstWhatIsOver(one: Change, other: Change): number {
  const rank = (change: Change): number => ("fact" in change && change.fact.polarity === "over" && change.fact.key === "" ? 0 : 1);
  return rank(one) - rank(other);
}

function linesOf(content: string): string[] {
  return content.split(/\r\n|[\n\r\u2028\u2029\u0085]/u).filter((line) => line.trim() !== "");
}

function reasonFor(before: string[], after: string[]): string {
  const added = after.filter((line) => !before.includes(line)).map((line) => `added "${line}"`);
  const removed = before.filter((line) => !after.includes(line)).map((line) => `removed "${line}"`);
  return `The user said so: ${[...removed, ...added].join(", ")}`;
}

/** The update of one section, none where its lines stay the same, or would have to go only because the section is too long already. */
function updateOf(section: string, before: string[], decided: CoreLine[], limit: number): SectionUpdate[] {
  const own = decided.filter((line) => line.section === section);
  const isOnlyAdded = before.every((text) => own.some((line) => line.text === text));
  if (isOnlyAdded && before.join("\n").length > limit) return [];
  const after = [...new Set(fitLines(own, limit).map(({ text }) => text))];
  const known = new Set(before);
  if (after.length === known.size && after.every((text) => known.has(text))) return [];
  return [{ section, content: after.join("\n"), reason: reasonFor(before, after) }];
}

/**
 * What a user's message changes in core memory, by rules alone: only what is stated clearly, in English or Chinese, of the user and of now.
 * Questions, suppositions, other people's words, moods of the moment, fiction and orders to the memory change nothing. With `onlyAdd` the
 * message is older than what is known: it may fill gaps but replaces and removes nothing.
 */
export function decideOffline(
  sections: Readonly<Record<string, string>>,
  userMessage: string,
  { onlyAdd = false, sectionLimit = SECTION_CHARACTERS }: { onlyAdd?: boolean; sectionLimit?: number } = {},
): SectionUpdate[] {
  if (!isTrustworthy(userMessage)) return [];
  const own = plainWording(ownWords(userMessage));
  const isCasual = !/\p{Lu}/u.test(own.replace(/\bI\b/g, ""));
  const sentences = splitSentences(own)
    .slice(0, SENTENCES)
    .filter((sentence) => sentence.length <= LONGEST);
  const changes = sentences.flatMap((sentence) => changesIn(sentence, isCasual)).sort(firstWhatIsOver);
  if (changes.length === 0) return [];

  let lines = DEFAULT_SECTIONS.flatMap((section) =>
    linesOf(sections[section] ?? "").map((text): CoreLine => ({ section, text, isOld: true })),
  );
  for (const change of changes) {
    if ("fact" in change) lines = applyFact(lines, change.fact, onlyAdd);
    else if (!onlyAdd) lines = forgetLines(lines, change.forget, isCasual);
  }
  return DEFAULT_SECTIONS.flatMap((section) => updateOf(section, linesOf(sections[section] ?? ""), lines, sectionLimit));
}
