import { lineKey, linesByKey, linesOf, type MemoryLine } from "../../stores/postgres/memory/section-versions.ts";
import { lexicalWords } from "../../text/lexical-text.ts";

/** A line of a section while the memory agent works. */
export interface DraftLine {
  content: string;
  /** Messages that it rests on: an erase of one takes the line too. */
  sources: Set<string>;
  /** Messages that said it again. */
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

/** A line that stays is the same object; an added one has no sources yet. */
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
 * Keeps the sources of facts that a model rewrites in other words, another language or section: an erase must still find them. In doubt a
 * line gets too many.
 *
 * An added line inherits the sources of every line, in any section, most of whose words it has. If nothing rewords a removed line, its
 * sources go to the lines in its place; without those, to all added lines; if this call adds none, to those of earlier calls and of the
 * next.
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

/** The added lines between the neighbours of a removed line that stay. */
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
