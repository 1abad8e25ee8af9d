import { linesByKey, lineKey, type SectionVersionLines, type VersionLine } from "../memory/section-versions.ts";

/** A version of a section, and whether all that gave rise to it is erased. */
export interface VersionToRebuild extends Pick<SectionVersionLines, "version" | "content" | "triggerMessageIds" | "lines"> {
  isErased: boolean;
}

/** A version that stays, as it is without what is erased. */
export interface RemainingVersion {
  version: number;
  content: string | null;
  lines: VersionLine[];
  /** Content of the version that stays before it. */
  before: string | null;
  /** It, or a version before it, is not what it was. */
  isChanged: boolean;
  /** Lines now gone that its author had added or left out. */
  touched: VersionLine[];
}

export interface RebuiltSection {
  kept: RemainingVersion[];
  /** What the section says now. */
  now: Pick<RemainingVersion, "content" | "lines">;
  /** Lines that are gone, of all versions. */
  gone: VersionLine[];
  /** Messages that are left of those on which a line rests that is not there any more, or by which one was left out. */
  undecided: string[];
}

/**
 * The versions of one section, oldest first, without what rests on messages that are gone. A line that rests on one of them goes, also when
 * it rests on others too. A line that was left out because of them alone, or for lines that are all gone, is back. What others wrote stays.
 */
export function rebuildSection(versions: readonly VersionToRebuild[], isGone: (messageId: string) => boolean): RebuiltSection {
  const left = (ids: readonly string[]): string[] => ids.filter((id) => !isGone(id));
  const isLost = ({ triggerMessageIds }: VersionLine): boolean => triggerMessageIds.some(isGone);
  const cleaned = (line: VersionLine): VersionLine => {
    const by = line.removedBy?.some(isGone) ? left(line.removedBy) : line.removedBy;
    return { ...line, repeatedIn: left(line.repeatedIn), removedBy: by?.length === 0 && line.removedBy?.length !== 0 ? null : by };
  };

  const kept: RemainingVersion[] = [];
  const gone: VersionLine[] = [];
  /** Lines of which it has to be decided anew whether they are true. */
  const doubtful: { line: VersionLine; restsOn: readonly string[] }[] = [];
  let [was, lines]: [readonly VersionLine[], VersionLine[]] = [[], []]; // as it was written, as it is now
  let content: string | null = null;
  let isChanged = false;
  for (const { version, content: written, triggerMessageIds, lines: writtenLines, isErased: isErased } of versions) {
    const [before, now] = [linesByKey(was), linesByKey(writtenLines)];
    const added = writtenLines.filter((line) => !before.has(lineKey(line.content)));
    // The agent put lines that are all gone in the place of others, which are free of what is erased.
    const isPlaceFree = added.length > 0 && added.every(isLost) && triggerMessageIds.length > 0;
    const isBack = (line: VersionLine): boolean => {
      const fact = lineKey(line.content);
      const by = before.get(fact)?.removedBy ?? triggerMessageIds;
      const again = now.get(fact);
      if (again) return isLost(again); // what is written again rests on more
      if (!before.has(fact)) return true; // it was put back before
      if (by.length > 0 && left(by).length === 0) return true;
      if (isPlaceFree) return true;
      if (by.some(isGone)) doubtful.push({ line, restsOn: [...by, ...line.triggerMessageIds, ...line.repeatedIn] });
      return false;
    };
    // A section that a person removed stays so.
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
      kept.push({ version, content, lines, before: kept.at(-1)?.content ?? null, isChanged, touched });
    }
    was = writtenLines;
  }
  doubtful.push(...was.filter(isLost).map((line) => ({ line, restsOn: [...line.triggerMessageIds, ...line.repeatedIn] })));
  const present = linesByKey(lines);
  const undecided = doubtful.filter(({ line }) => !present.has(lineKey(line.content))).flatMap(({ restsOn }) => left(restsOn));
  return { kept, now: { content, lines }, gone, undecided };
}
