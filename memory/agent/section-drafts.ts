import { lineKey, linesByKey } from "../../stores/postgres/memory/section-versions.ts";
import type { ReadingResult } from "../../stores/postgres/memory/unread-store.ts";
import type { SectionChange } from "../../stores/postgres/memory/write-sections.ts";
import { type DraftLine, followWords, rewriteLines, type Rewriting, toDraft, toLine } from "./draft-lines.ts";
import { parseTurnNumbers } from "./memory-tools.ts";
import type { DecidedSection, Trigger, WorkingMemoryParts } from "./working-memory.ts";

/** What came of a call, in words for the model. */
export type Said = { said: string } | { refused: string };

/** A section as the model wants it; `turns` as they came. */
export interface WantedSection {
  section: string;
  content: string;
  reason: string | null;
  turns: unknown;
}

/** The sections while the memory agent works on them. */
export interface SectionDrafts {
  contents(): Record<string, string>;
  /** Gives a section a new content. Lines without turns rest on all that were `read`, and on messages that were `found` besides. */
  rewrite(wanted: WantedSection, read: readonly Trigger[], found: ReadonlySet<string>): Said;
  write(decided: DecidedSection, trigger: Trigger): void;
  result(): Pick<ReadingResult, "changes" | "repeated">;
}

interface Draft {
  content: string;
  lines: readonly DraftLine[];
}

/** A change whose lines may still come to rest on more. */
type DraftChange = Omit<SectionChange, "lineChange"> & { lines: readonly DraftLine[]; removedBy: Map<string, string[]> };

export function makeSectionDrafts({
  conversationId,
  sections,
  leftOut,
}: Pick<WorkingMemoryParts, "conversationId" | "sections" | "leftOut">): SectionDrafts {
  const versions = new Map(sections.map(({ section, version }) => [section, version]));
  const drafts = new Map(sections.map(({ section, content, lines }): [string, Draft] => [section, { content, lines: lines.map(toDraft) }]));
  const changes: DraftChange[] = [];
  const repeated = new Set<string>();
  const known = [...drafts.values()].flatMap(({ lines }) => lines);
  const addedBefore: DraftLine[] = [];
  const lost = new Set<DraftLine>();

  function record(
    { section, content, reason }: Omit<WantedSection, "turns">,
    { after, added }: Rewriting,
    triggers: readonly Trigger[],
    removedBy: Map<string, string[]>,
  ): Said {
    const newest = triggers.reduce((one, other) => (other.saidAt >= one.saidAt ? other : one), triggers[0] as Trigger);
    known.push(...added);
    addedBefore.push(...added);
    drafts.set(section, { content, lines: after });
    changes.push({
      section,
      content: content === "" ? null : content,
      expectedVersion: versions.get(section) ?? 0,
      actor: newest.actor,
      reason,
      conversationId,
      triggerMessageIds: triggers.map(({ messageId }) => messageId),
      saidAt: newest.saidAt,
      lines: after,
      removedBy,
    });
    return { said: content === "" ? `The section "${section}" is cleared.` : `The section "${section}" now has this content.` };
  }

  function repeat(section: string, line: DraftLine, messageIds: readonly string[]): void {
    messageIds.forEach((id) => line.repeatedIn.add(id));
    if (messageIds.length > 0) repeated.add(section);
  }

  function withoutLeftOut(before: readonly DraftLine[], content: string): string {
    const there = linesByKey(before);
    const isWanted = (line: string): boolean => there.has(lineKey(line)) || !leftOut.has(lineKey(line));
    return content.split("\n").filter(isWanted).join("\n");
  }

  return {
    contents: () => Object.fromEntries([...drafts].flatMap(([section, { content }]) => (content === "" ? [] : [[section, content]]))),

    rewrite({ section, content: wanted, reason, turns: given }, read, found) {
      const { content: contentBefore, lines: before } = drafts.get(section) ?? { content: "", lines: [] };
      const asWanted = rewriteLines(before, wanted);
      const lines = asWanted.after.map((line) => ({ isNew: asWanted.added.includes(line) }));
      const parsed = parseTurnNumbers(given, { lines, count: read.length });
      if ("refused" in parsed) return parsed;
      const turnsOf = new Map(asWanted.after.map((line, position) => [lineKey(line.content), parsed.turns[position] ?? []]));
      const content = withoutLeftOut(before, wanted);
      const rewriting = rewriteLines(before, content);
      const { after, added, removed } = rewriting;
      const idsOf = (numbers: readonly number[]): string[] => numbers.flatMap((number) => read[number - 1]?.messageId ?? []);
      const all = read.map(({ messageId }) => messageId);
      const gaveRise = new Map<DraftLine, string[]>();
      for (const line of after) {
        const named = idsOf(turnsOf.get(lineKey(line.content)) ?? []);
        if (!added.includes(line)) repeat(section, line, named);
        else {
          gaveRise.set(line, named.length > 0 ? named : all);
          [...(named.length > 0 ? named : [...all, ...found])].forEach((id) => line.triggers.add(id));
        }
      }
      if (content === contentBefore) return { said: "Nothing changed: the section says that already." };
      const heirs = followWords(rewriting, { known, addedBefore, lost });
      const removedBy = new Map(
        removed.map((line): [string, string[]] => {
          const by = (heirs.get(line) ?? []).flatMap((heir) => gaveRise.get(heir) ?? []);
          const isOnlyRemoval = added.length === 0 && parsed.named.length > 0;
          return [lineKey(line.content), by.length > 0 ? [...new Set(by)] : isOnlyRemoval ? idsOf(parsed.named) : all];
        }),
      );
      const ids = new Set([...gaveRise.values(), ...removedBy.values()].flat());
      const triggers = read.filter(({ messageId }) => ids.has(messageId));
      return record({ section, content, reason }, rewriting, triggers.length > 0 ? triggers : read, removedBy);
    },

    write({ section, lines, reason }, trigger) {
      const before = drafts.get(section)?.lines ?? [];
      const content = withoutLeftOut(before, lines.map(({ text }) => text).join("\n"));
      const rewriting = rewriteLines(before, content);
      for (const line of rewriting.after) {
        const { madeOf, isRepeated } = lines.find(({ text }) => lineKey(text) === lineKey(line.content)) ?? {};
        if (!rewriting.added.includes(line)) repeat(section, line, isRepeated ? [trigger.messageId] : []);
        else {
          const origin = before.find((other) => other.content === madeOf);
          line.triggers = new Set([...(origin?.triggers ?? []), trigger.messageId]);
          line.repeatedIn = new Set(origin?.repeatedIn);
        }
      }
      if (rewriting.added.length + rewriting.removed.length === 0) return;
      const removedBy = new Map(rewriting.removed.map((line): [string, string[]] => [lineKey(line.content), [trigger.messageId]]));
      record({ section, content, reason }, rewriting, [trigger], removedBy);
    },

    result() {
      const isChanged = new Set(changes.map(({ section }) => section));
      const linesOf = (lines: readonly DraftLine[]) => lines.map((line) => ({ ...toLine(line), removedBy: null }));
      return {
        changes: changes.map(({ lines, removedBy, ...change }) => ({ ...change, lineChange: { lines: lines.map(toLine), removedBy } })),
        repeated: [...repeated].flatMap((section) => {
          const version = versions.get(section);
          const draft = drafts.get(section);
          return version === undefined || !draft || isChanged.has(section) ? [] : [{ section, version, lines: linesOf(draft.lines) }];
        }),
      };
    },
  };
}
