import { linesByKey, lineKey, linesOf, type MemoryLine } from "../../stores/postgres/memory/section-versions.ts";
import { lexicalText } from "../../text/lexical-text.ts";

/** A line while the agent works: what it rests on may still grow. */
export interface DraftLine {
  content: string;
  triggers: Set<string>;
  repeatedIn: Set<string>;
}

/** What one call makes of a section. */
export interface Rewriting {
  /** All lines of the section before, and after. */
  before: readonly DraftLine[];
  after: DraftLine[];
  added: DraftLine[];
  removed: DraftLine[];
}

export function toDraft({ content, triggerMessageIds, repeatedIn }: MemoryLine): DraftLine {
  return { content, triggers: new Set(triggerMessageIds), repeatedIn: new Set(repeatedIn) };
}

export function toLine({ content, triggers, repeatedIn }: DraftLine): MemoryLine {
  return { content, triggerMessageIds: [...triggers], repeatedIn: [...repeatedIn].filter((id) => !triggers.has(id)) };
}

/** The lines of a new content; those that were there are the same drafts, others rest on nothing yet. */
export function rewriteLines(before: readonly DraftLine[], content: string): Rewriting {
  const known = linesByKey(before);
  const added: DraftLine[] = [];
  const after = linesOf(content).map((text) => {
    const kept = known.get(lineKey(text));
    if (kept) return kept;
    const line = { content: text, triggers: new Set<string>(), repeatedIn: new Set<string>() };
    added.push(line);
    return line;
  });
  return { before, after, added, removed: before.filter((line) => !after.includes(line)) };
}

const words = new WeakMap<DraftLine, Set<string>>();

function wordsOf(line: DraftLine): Set<string> {
  const found = words.get(line) ?? new Set(lexicalText(lineKey(line.content)).split(" ").filter(Boolean));
  words.set(line, found);
  return found;
}

/** `line` says most of what `other` says: more than half of its words. */
function saysMostOf(line: DraftLine, other: DraftLine): boolean {
  if (lineKey(line.content) === lineKey(other.content)) return true;
  const said = wordsOf(other);
  return [...said].filter((word) => wordsOf(line).has(word)).length * 2 > said.size;
}

function restOn(line: DraftLine, other: DraftLine): void {
  other.triggers.forEach((id) => line.triggers.add(id));
  other.repeatedIn.forEach((id) => line.repeatedIn.add(id));
}

/** New lines that stand where a removed line stood: between the same lines that stayed. */
function inPlaceOf(removed: DraftLine, { before, after, added, removed: all }: Rewriting): DraftLine[] {
  const place = before.indexOf(removed);
  const isStaying = (line: DraftLine): boolean => !all.includes(line) && after.includes(line);
  const from = before.slice(0, place).findLast(isStaying);
  const until = before.slice(place + 1).find(isStaying);
  const [start, end] = [from ? after.indexOf(from) + 1 : 0, until ? after.indexOf(until) : after.length];
  return after.slice(start, Math.max(start, end)).filter((line) => added.includes(line));
}

/** Lines of one reading, in all sections, by which the words of lines that are rewritten are followed. */
export interface ReadingLines {
  /** Lines there are, or were in this reading. */
  known: readonly DraftLine[];
  /** New lines of earlier calls. */
  addedBefore: readonly DraftLine[];
  /** Lines that were left out by earlier calls and that no line says. */
  lost: Set<DraftLine>;
}

/**
 * Has the new lines of a call rest on what the lines rest on whose words they may hold: those that they say most of, in any section; those
 * in whose place they stand; and, of what was left out and cannot be found again, all. Returns of each removed line the lines that stand
 * for it, empty where that is unsure.
 */
export function followWords(rewriting: Rewriting, { known, addedBefore, lost }: ReadingLines): Map<DraftLine, DraftLine[]> {
  const { added, removed } = rewriting;
  for (const line of added) known.filter((other) => saysMostOf(line, other)).forEach((other) => restOn(line, other));
  for (const other of lost) {
    if (added.some((line) => saysMostOf(line, other))) lost.delete(other);
    else added.forEach((line) => restOn(line, other));
  }
  const heirs = new Map<DraftLine, DraftLine[]>();
  for (const other of removed) {
    const saying = added.filter((line) => saysMostOf(line, other));
    const found = saying.length > 0 ? saying : inPlaceOf(other, rewriting);
    heirs.set(other, found);
    found.forEach((line) => restOn(line, other));
    const isFound = found.length > 0 || [...rewriting.after, ...addedBefore].some((line) => saysMostOf(line, other));
    if (isFound) continue;
    if (added.length === 0) lost.add(other);
    (added.length > 0 ? added : addedBefore).forEach((line) => restOn(line, other));
  }
  return heirs;
}
