import { lineKey, linesByKey, linesOf } from "../../stores/postgres/memory/section-versions.ts";
import type { SectionWithLines } from "../../stores/postgres/memory/core-memory-store.ts";
import type { ReadingResult } from "../../stores/postgres/memory/unread-store.ts";
import type { SectionChange } from "../../stores/postgres/memory/write-sections.ts";
import { diffLines, type DraftLine, makePassOnSources, toDraftLine, toMemoryLine } from "./line-sources.ts";
import { parseTurnNumbers } from "./tool-schemas.ts";
import type { Actor } from "../../stores/postgres/memory/operation-store.ts";

export interface SourceMessage {
  messageId: string;
  saidAt: Date;
  /** `import`: it came by an import. */
  actor: Actor;
}

/** The result of a call, in words for the model. */
export type CallOutcome = { said: string } | { refused: string };

export interface WantedSection {
  section: string;
  content: string;
  reason: string | null;
  turns: unknown;
}

export interface DecidedSection {
  section: string;
  /** `isRepeated`: it was said again. */
  lines: readonly { text: string; isRepeated?: boolean | undefined }[];
}

export interface SectionDraftsParts {
  conversationId: string;
  sections: readonly SectionWithLines[];
  /** Keys of lines that a person has deleted since these turns. */
  leftOut: ReadonlySet<string>;
}

interface Draft {
  content: string;
  lines: readonly DraftLine[];
}

/** Later calls may add sources to its lines. */
interface DraftChange extends Draft {
  section: string;
  reason: string | null;
  /** At least one. */
  sources: readonly SourceMessage[];
  /** The messages that removed a line, by its key. */
  removedBy: Map<string, string[]>;
}

/** The sections of one reading as its calls leave them. */
export function makeSectionDrafts({ conversationId, sections, leftOut }: SectionDraftsParts) {
  const versions = new Map(sections.map(({ section, version }) => [section, version]));
  const drafts = new Map(
    sections.map(({ section, content, lines }): [string, Draft] => [section, { content, lines: lines.map(toDraftLine) }]),
  );
  const changes: DraftChange[] = [];
  const repeated = new Set<string>();
  const passOnSources = makePassOnSources([...drafts.values()].flatMap(({ lines }) => lines));

  const draftOf = (section: string): Draft => drafts.get(section) ?? { content: "", lines: [] };

  function record(change: DraftChange): void {
    drafts.set(change.section, { content: change.content, lines: change.lines });
    changes.push(change);
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

  function toSectionChange({ section, content, reason, lines, sources, removedBy }: DraftChange): SectionChange {
    const newest = sources.reduce((one, other) => (other.saidAt >= one.saidAt ? other : one));
    return {
      section,
      content: content === "" ? null : content,
      expectedVersion: versions.get(section) ?? 0,
      actor: newest.actor,
      reason,
      conversationId,
      triggerMessageIds: sources.map(({ messageId }) => messageId),
      saidAt: newest.saidAt,
      lineChange: { lines: lines.map(toMemoryLine), removedBy },
    };
  }

  return {
    contents: (): Record<string, string> =>
      Object.fromEntries([...drafts].flatMap(([section, { content }]) => (content === "" ? [] : [[section, content]]))),

    /**
     * Gives a section the content that a model wants. A line rests on the turns of `read` that the model names, else on all of them and on
     * the messages it has `found`.
     */
    rewrite(given: WantedSection, read: readonly SourceMessage[], found: ReadonlySet<string>): CallOutcome {
      const { section, content: wanted, reason, turns } = given;
      const before = draftOf(section);
      const named = readNamedSources(before.lines, wanted, turns, read);
      if ("refused" in named) return named;
      const content = withoutLeftOut(before.lines, wanted);
      const diff = diffLines(before.lines, content);
      const all = read.map(({ messageId }) => messageId);
      const ofAdded = new Map<DraftLine, readonly string[]>();
      for (const line of diff.after) {
        const ids = named.byLine.get(lineKey(line.content)) ?? [];
        if (!diff.added.includes(line)) repeat(section, line, ids);
        else {
          ofAdded.set(line, ids.length > 0 ? ids : all);
          [...(ids.length > 0 ? ids : [...all, ...found])].forEach((id) => line.sources.add(id));
        }
      }
      if (content === before.content) return { said: "Nothing changed: the section says that already." };
      const successors = passOnSources(diff);
      const ofRemoved = (line: DraftLine): string[] => {
        const bySuccessors = (successors.get(line) ?? []).flatMap((successor) => ofAdded.get(successor) ?? []);
        if (bySuccessors.length > 0) return [...new Set(bySuccessors)];
        return diff.added.length === 0 && named.ids.length > 0 ? named.ids : all;
      };
      const removedBy = new Map(diff.removed.map((line) => [lineKey(line.content), ofRemoved(line)]));
      const ids = new Set([...ofAdded.values(), ...removedBy.values()].flat());
      const sources = read.filter(({ messageId }) => ids.has(messageId));
      record({ section, content, reason, lines: diff.after, sources: sources.length > 0 ? sources : read, removedBy });
      return { said: content === "" ? `The section "${section}" is cleared.` : `The section "${section}" now has this content.` };
    },

    write({ section, lines }: DecidedSection, source: SourceMessage): void {
      const before = draftOf(section).lines;
      const content = withoutLeftOut(before, lines.map(({ text }) => text).join("\n"));
      const { after, added, removed } = diffLines(before, content);
      for (const line of after) {
        const decided = lines.find(({ text }) => lineKey(text) === lineKey(line.content));
        if (added.includes(line)) line.sources.add(source.messageId);
        else repeat(section, line, decided?.isRepeated ? [source.messageId] : []);
      }
      if (added.length + removed.length === 0) return;
      const removedBy = new Map(removed.map((line) => [lineKey(line.content), [source.messageId]]));
      const said = [...removed.map((line) => `removed "${line.content}"`), ...added.map((line) => `added "${line.content}"`)];
      record({ section, content, reason: `The user said so: ${said.join(", ")}`, lines: after, sources: [source], removedBy });
    },

    result(): Pick<ReadingResult, "changes" | "repeated"> {
      const changed = new Set(changes.map(({ section }) => section));
      const repeatedOnly = sections.filter(({ section }) => repeated.has(section) && !changed.has(section));
      return {
        changes: changes.map(toSectionChange),
        repeated: repeatedOnly.map(({ section, version }) => {
          return { section, version, lines: draftOf(section).lines.map((line) => ({ ...toMemoryLine(line), removedBy: null })) };
        }),
      };
    },
  };
}

/** The sources by each line's key, and all of them. */
type NamedSources = { byLine: Map<string, string[]>; ids: string[] } | { refused: string };

function readNamedSources(before: readonly DraftLine[], content: string, turns: unknown, read: readonly SourceMessage[]): NamedSources {
  const known = linesByKey(before);
  const lines = linesOf(content);
  const isNew = (line: string): boolean => !known.has(lineKey(line));
  const parsed = parseTurnNumbers(turns, { lines: lines.map((line) => ({ isNew: isNew(line) })), count: read.length });
  if ("refused" in parsed) return parsed;
  const toIds = (numbers: readonly number[]): string[] => numbers.flatMap((number) => read[number - 1]?.messageId ?? []);
  return {
    byLine: new Map(lines.map((line, position) => [lineKey(line), toIds(parsed.turns[position] ?? [])])),
    ids: toIds(parsed.named),
  };
}
