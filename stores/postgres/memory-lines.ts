/** One line of a section, and the user's messages it rests on. */
export interface MemoryLine {
  content: string;
  /** Messages whose words may be in it: it goes with each of them. Empty: a person wrote it. */
  triggerMessageIds: readonly string[];
  /** Messages that said it again without changing it. */
  repeatedIn: readonly string[];
}

/** The lines of a text that are not blank. */
export const linesOf = (content: string | null): string[] => (content ?? "").split("\n").filter((line) => line.trim() !== "");

/** What two writings of one line have in common: blanks, line ends and list marks differ from editor to editor. */
export const factOf = (line: string): string =>
  line
    .replace(/^\s*[-*•]\s+/u, "")
    .replace(/\s+/gu, " ")
    .trim();

/** Lines by what they say. Of several that say the same, the first. */
export function byFact<Line extends { content: string }>(lines: readonly Line[]): Map<string, Line> {
  return new Map(lines.toReversed().map((line) => [factOf(line.content), line]));
}

/**
 * The lines of a text whose author named no messages for them: a line that is there already, in this section or in another one, keeps what
 * it rests on; any other rests on `triggerMessageIds`. `before` are the lines of the section, `elsewhere` those of the others.
 */
export function linesAfter(
  content: string | null,
  { before, elsewhere }: { before: readonly MemoryLine[]; elsewhere: readonly MemoryLine[] },
  triggerMessageIds: readonly string[],
): MemoryLine[] {
  const [here, there] = [byFact(before), byFact(elsewhere)];
  return linesOf(content).map((line) => {
    const kept = here.get(factOf(line));
    if (kept) return { ...kept, content: line };
    const moved = there.get(factOf(line));
    const triggers = [...new Set([...(moved?.triggerMessageIds ?? []), ...triggerMessageIds])];
    return { content: line, triggerMessageIds: triggers, repeatedIn: moved?.repeatedIn ?? [] };
  });
}
