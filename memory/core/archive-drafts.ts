import { v7 as uuidv7 } from "uuid";
import type { MemoryCorrection, MemoryToArchive } from "../../stores/postgres/memory/archive-store.ts";
import type { MemoryOperation } from "../../stores/postgres/memory/operation-store.ts";
import type { EpisodeType } from "../../turn/state.ts";
import type { RecalledEpisode } from "../recall/recall-episodes.ts";
import type { CallOutcome, SourceMessage } from "./section-drafts.ts";
import { parseTurnNumbers, type ToolArguments } from "./tool-schemas.ts";

/** An archived memory that a search found, with the changes so far. */
interface Draft {
  found: RecalledEpisode;
  /** Null: it is deleted. */
  content: string | null;
  episodeType: EpisodeType;
  importance: number;
  /** Messages that changed it. */
  sources: Set<string>;
}

type Log = (operation: string, sources: readonly SourceMessage[], values: Partial<MemoryOperation>) => void;

/** The sources that a model names for a memory, else all that was read. */
function readSources(turns: unknown, read: readonly SourceMessage[]): readonly SourceMessage[] | { refused: string } {
  const parsed = parseTurnNumbers(turns, { lines: [{ isNew: true }], count: read.length });
  if ("refused" in parsed) return parsed;
  return parsed.named.length > 0 ? read.filter((_, index) => parsed.named.includes(index + 1)) : read;
}

const isList = (value: readonly SourceMessage[] | { refused: string }): value is readonly SourceMessage[] => Array.isArray(value);
const idsOf = (sources: readonly SourceMessage[]): string[] => sources.map(({ messageId }) => messageId);

/** The archived memories of one reading as its calls leave them. `found`: messages that the model was shown. */
export function makeArchiveDrafts(log: Log, found: ReadonlySet<string>) {
  const archived: MemoryToArchive[] = [];
  /** The found memories by the model's number, from 1. */
  const drafts: Draft[] = [];

  function change(
    number: number,
    { turns, read }: { turns: unknown; read: readonly SourceMessage[] },
    apply: (draft: Draft, sources: readonly SourceMessage[]) => CallOutcome,
  ): CallOutcome {
    const draft = drafts[number - 1];
    if (!draft) return { refused: `memory: archival_search has shown no memory ${number}. Search for it first, and give its number.` };
    if (draft.content === null) return { refused: `memory: memory ${number} is deleted already.` };
    const sources = readSources(turns, read);
    if (!isList(sources)) return sources;
    const outcome = apply(draft, sources);
    // Without named turns the new words may come from anything that was shown.
    if ("said" in outcome) [...(sources === read ? found : []), ...idsOf(sources)].forEach((id) => draft.sources.add(id));
    return outcome;
  }

  const about = ({ found, content, episodeType, importance }: Draft): Partial<MemoryOperation> => {
    return { memoryId: found.id, restsOn: found.messageIds, oldValue: content, episodeType, importance };
  };

  return {
    insert({ content, episode_type, importance, turns }: ToolArguments<"archival_insert">, read: readonly SourceMessage[]): CallOutcome {
      const sources = readSources(turns, read);
      if (!isList(sources)) return sources;
      const same = archived.find((memory) => memory.content === content);
      if (same) {
        same.triggerMessageIds = [...new Set([...same.triggerMessageIds, ...idsOf(sources)])];
        return { said: "That is archived already." };
      }
      const id = uuidv7();
      archived.push({ id, triggerMessageIds: idsOf(sources), content, episodeType: episode_type, importance });
      log("archival_insert", sources, { memoryId: id, newValue: content, episodeType: episode_type, importance });
      return { said: "Archived." };
    },

    update({ memory, content, reason, turns, ...given }: ToolArguments<"archival_update">, read: readonly SourceMessage[]): CallOutcome {
      return change(memory, { turns, read }, (draft, sources) => {
        const same = drafts.findIndex((other) => other !== draft && other.content === content);
        if (same >= 0) return { refused: `memory: memory ${same + 1} says that already. Delete memory ${memory} instead.` };
        const next = { content, episodeType: given.episode_type ?? draft.episodeType, importance: given.importance ?? draft.importance };
        if (next.content === draft.content && next.episodeType === draft.episodeType && next.importance === draft.importance)
          return { said: "Nothing changed: the memory says that already." };
        log("archival_update", sources, { ...about(draft), ...next, newValue: content, reason: reason ?? null });
        Object.assign(draft, next);
        return { said: `Memory ${memory} now has this content.` };
      });
    },

    delete({ memory, reason, turns }: ToolArguments<"archival_delete">, read: readonly SourceMessage[]): CallOutcome {
      return change(memory, { turns, read }, (draft, sources) => {
        log("archival_delete", sources, { ...about(draft), reason: reason ?? null });
        draft.content = null;
        return { said: `Memory ${memory} is deleted.` };
      });
    },

    /** The found episodes as they are now, each archived memory with its number; null for an exchange, which cannot be changed. */
    show(episodes: readonly RecalledEpisode[]): { episode: RecalledEpisode; number: number | null }[] {
      return episodes.flatMap((episode): { episode: RecalledEpisode; number: number | null }[] => {
        if (episode.messageIds.includes(episode.id)) return [{ episode, number: null }]; // an archived memory is no message
        const { id, userMessage: content, episodeType, importance } = episode;
        let draft = drafts.find(({ found }) => found.id === id);
        if (!draft) drafts.push((draft = { found: episode, content, episodeType, importance, sources: new Set() }));
        if (draft.content === null) return [];
        const now = { userMessage: draft.content, episodeType: draft.episodeType, importance: draft.importance };
        return [{ episode: { ...episode, ...now }, number: drafts.indexOf(draft) + 1 }];
      });
    },

    result: (): { archived: MemoryToArchive[]; corrected: MemoryCorrection[] } => ({
      archived,
      corrected: drafts
        .filter(({ sources }) => sources.size > 0)
        .map(({ found: { id, userMessage: before }, sources, ...now }) => {
          const { content, episodeType, importance } = now;
          return { id, before, content, episodeType, importance, triggerMessageIds: [...sources] };
        }),
    }),
  };
}
