import { linesByKey, lineKey, type SectionVersionLines, type VersionLine } from "./section-versions.ts";

export interface VersionToRebuild extends Pick<SectionVersionLines, "version" | "content" | "triggerMessageIds" | "lines"> {
  isErased: boolean;
}

export interface RemainingVersion {
  version: number;
  content: string | null;
  lines: VersionLine[];
  before: string | null;
  /** True when this version or an earlier one changed. */
  isChanged: boolean;
  /** Erased lines that its author had added or removed. */
  touched: VersionLine[];
}

export interface RebuiltSection {
  kept: RemainingVersion[];
  now: Pick<RemainingVersion, "content" | "lines">;
  gone: VersionLine[];
  /** Messages on which the memory agent decides again. */
  undecided: string[];
}

/**
 * The versions of a section without erased messages. A line goes with any of its sources. A removed line returns when only erased messages
 * removed it, or when all lines that replaced it go.
 */
export function rebuildSection(versions: readonly VersionToRebuild[], isGone: (messageId: string) => boolean): RebuiltSection {
  const remaining = (ids: readonly string[]): string[] => ids.filter((id) => !isGone(id));
  const isLost = ({ triggerMessageIds }: VersionLine): boolean => triggerMessageIds.some(isGone);
  const cleaned = (line: VersionLine): VersionLine => {
    const by = line.removedBy?.some(isGone) ? remaining(line.removedBy) : line.removedBy;
    return { ...line, repeatedIn: remaining(line.repeatedIn), removedBy: by?.length === 0 && line.removedBy?.length !== 0 ? null : by };
  };

  const versionsLeft: RemainingVersion[] = [];
  const gone: VersionLine[] = [];
  const doubtful: { line: VersionLine; restsOn: readonly string[] }[] = [];
  let [was, lines]: [readonly VersionLine[], VersionLine[]] = [[], []]; // as written, as rebuilt
  let content: string | null = null;
  let isChanged = false;
  for (const { version, content: written, triggerMessageIds, lines: writtenLines, isErased } of versions) {
    const [before, now] = [linesByKey(was), linesByKey(writtenLines)];
    const added = writtenLines.filter((line) => !before.has(lineKey(line.content)));
    // All lines by which the agent replaced others are erased.
    const isPlaceFree = added.length > 0 && added.every(isLost) && triggerMessageIds.length > 0;
    const isBack = (line: VersionLine): boolean => {
      const fact = lineKey(line.content);
      const by = before.get(fact)?.removedBy ?? triggerMessageIds;
      const again = now.get(fact);
      if (again) return isLost(again); // what is written again has more sources
      if (!before.has(fact)) return true; // it was back already
      if (by.length > 0 && remaining(by).length === 0) return true;
      if (isPlaceFree) return true;
      if (by.some(isGone)) doubtful.push({ line, restsOn: [...by, ...line.triggerMessageIds, ...line.repeatedIn] });
      return false;
    };
    // A section that a person removed stays removed.
    const back = written === null && !isErased && triggerMessageIds.length === 0 ? [] : lines.filter(isBack);
    const lost = writtenLines.filter(isLost);
    gone.push(...lost);
    lines = [...back, ...writtenLines.filter((line) => !isLost(line)).map(cleaned)];
    // Empty, not null: nobody removed it.
    content = back.length + lost.length === 0 ? written : lines.map((line) => line.content).join("\n");
    isChanged ||= isErased || content !== written;
    if (!isErased) {
      const isLeftOut = (line: VersionLine): boolean => !now.has(lineKey(line.content));
      const touched = [...added.filter(isLost), ...was.filter(isLost).filter(isLeftOut)];
      versionsLeft.push({ version, content, lines, before: versionsLeft.at(-1)?.content ?? null, isChanged, touched });
    }
    was = writtenLines;
  }
  doubtful.push(...was.filter(isLost).map((line) => ({ line, restsOn: [...line.triggerMessageIds, ...line.repeatedIn] })));
  const present = linesByKey(lines);
  const undecided = doubtful.filter(({ line }) => !present.has(lineKey(line.content))).flatMap(({ restsOn }) => remaining(restsOn));
  return { kept: versionsLeft, now: { content, lines }, gone, undecided };
}
