import { lineKey, linesByKey, linesOf, type MemoryLine } from "../../stores/postgres/memory/section-versions.ts";
import { lexicalWords } from "../../text/lexical-text.ts";

export interface DraftLine {
  content: string;
  /** The messages behind it: an erase of one takes the line too. */
  sources: Set<string>;
  repeatedIn: Set<string>;
}

export interface LineDiff {
  before: readonly DraftLine[];
  after: DraftLine[];
  added: DraftLine[];
  removed: DraftLine[];
}

export function toDraftLine({ content, triggerMessageIds, repeatedIn }: MemoryLine): DraftLine {
  return { content, sources: new Set(triggerMessageIds), repeatedIn: new Set(repeatedIn) };
}

export function toMemoryLine({ content, sources, repeatedIn }: DraftLine): MemoryLine {
  return { content, triggerMessageIds: [...sources], repeatedIn: [...repeatedIn].filter((id) => !sources.has(id)) };
}

/** An unchanged line stays the same object; a new one has no sources yet. */
export function diffLines(before: readonly DraftLine[], content: string): LineDiff {
  const known = linesByKey(before);
  const added: DraftLine[] = [];
  const after = linesOf(content).map((text) => {
    const same = known.get(lineKey(text));
    if (same) return same;
    const line: DraftLine = { content: text, sources: new Set(), repeatedIn: new Set() };
    added.push(line);
    return line;
  });
  return { before, after, added, removed: before.filter((line) => !after.includes(line)) };
}

/**
 * Keeps the sources of facts that a model rewords, translates or moves, so that an erase finds them. In doubt a line gets too many.
 *
 * An added line inherits the sources of every line, in any section, with most of its words. Otherwise a removed line's sources go to:
 * 1. the lines in its place;
 * 2. all lines that this call adds;
 * 3. the lines of earlier calls and of the next.
 */
export function makePassOnSources(lines: readonly DraftLine[]) {
  const linesSoFar = [...lines];
  const addedSoFar: DraftLine[] = [];
  const orphans = new Set<DraftLine>();

  function passOn(from: DraftLine, to: readonly DraftLine[]): void {
    for (const line of to) {
      from.sources.forEach((id) => line.sources.add(id));
      from.repeatedIn.forEach((id) => line.repeatedIn.add(id));
    }
  }

  function adoptOrphans(added: readonly DraftLine[]): void {
    for (const orphan of orphans) {
      if (added.some((line) => saysMostOf(line, orphan))) orphans.delete(orphan);
      else passOn(orphan, added);
    }
  }

  /** The lines that replace each removed one, none where that is unsure. */
  return function passOnSources(diff: LineDiff): Map<DraftLine, DraftLine[]> {
    const { after, added, removed } = diff;
    const saying = (line: DraftLine): DraftLine[] => added.filter((other) => saysMostOf(other, line));
    for (const line of linesSoFar) passOn(line, saying(line));
    adoptOrphans(added);
    const successors = new Map<DraftLine, DraftLine[]>();
    for (const line of removed) {
      const rewordings = saying(line);
      const replacing = rewordings.length > 0 ? rewordings : inPlaceOf(line, diff);
      successors.set(line, replacing);
      passOn(line, replacing);
      const isOrphan = replacing.length === 0 && ![...after, ...addedSoFar].some((other) => saysMostOf(other, line));
      if (!isOrphan) continue;
      if (added.length === 0) orphans.add(line);
      passOn(line, added.length > 0 ? added : addedSoFar);
    }
    linesSoFar.push(...added);
    addedSoFar.push(...added);
    return successors;
  };
}

/** The added lines between the unchanged neighbours of a removed one. */
function inPlaceOf(line: DraftLine, { before, after, added }: LineDiff): DraftLine[] {
  const place = before.indexOf(line);
  const previous = before.slice(0, place).findLast((other) => after.includes(other));
  const next = before.slice(place + 1).find((other) => after.includes(other));
  const start = previous ? after.indexOf(previous) + 1 : 0;
  const end = next ? after.indexOf(next) : after.length;
  return after.slice(start, Math.max(start, end)).filter((other) => added.includes(other));
}

/** Whether `line` has more than half of the words of `other`. */
function saysMostOf(line: DraftLine, other: DraftLine): boolean {
  if (lineKey(line.content) === lineKey(other.content)) return true;
  const wanted = wordsOf(other);
  const own = wordsOf(line);
  return [...wanted].filter((word) => own.has(word)).length * 2 > wanted.size;
}

const knownWords = new WeakMap<DraftLine, Set<string>>();

function wordsOf(line: DraftLine): Set<string> {
  const words = knownWords.get(line) ?? new Set(lexicalWords(lineKey(line.content)));
  knownWords.set(line, words);
  return words;
}
