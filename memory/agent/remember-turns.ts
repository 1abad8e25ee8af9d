import { AppError } from "../../errors/app-error.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { RememberJob } from "../../stores/jobs/job.ts";
import type { CoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import type { Owner } from "../../stores/owner.ts";
import type { Cursor } from "../../stores/page.ts";
import { type Exchange, firstMessageOf, type ReadExchange, toExchanges } from "../../stores/postgres/conversations/exchanges.ts";
import type { ReadingResult, UnreadConversation, UnreadStore } from "../../stores/postgres/memory/unread-store.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { Recall, RecalledEpisode } from "../recall/recall-episodes.ts";
import { makeWorkingMemory, type Trigger, type WorkingMemory } from "./working-memory.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { Actor } from "../../stores/postgres/memory/write-sections.ts";

/** A completed turn, or an imported message of the user, as the memory agent reads it. */
export interface TurnToRead {
  /** Of the user's message. */
  messageId: string;
  userMessage: string;
  /** Empty: there is none. */
  assistantMessage: string;
  saidAt: Date;
  /** `import` for one that came by an import. */
  actor: Actor;
}

export function toTrigger({ messageId, saidAt, actor }: TurnToRead): Trigger {
  return { messageId, saidAt, actor };
}

/** Of a reading one message may take this part; a longer one is shortened in the prompt. */
const MAX_MESSAGE_PART = 4;

/** What a message may have in the prompt of a reading of so many tokens. */
export function maxMessageTokens(readingTokens: number): number {
  return Math.floor(readingTokens / MAX_MESSAGE_PART);
}

/** The oldest exchanges that have at most so many tokens together, long messages counted as they are shortened; at least one. */
function exchangesThatFit<Read extends Exchange<{ content: string }>>(exchanges: readonly Read[], readingTokens: number): Read[] {
  const most = maxMessageTokens(readingTokens);
  let tokens = 0;
  const end = exchanges.findIndex(({ asked, answer }, index) => {
    for (const message of [asked, answer]) if (message) tokens += Math.min(estimateTokens(message.content), most);
    return tokens > readingTokens && index > 0;
  });
  return end < 0 ? [...exchanges] : exchanges.slice(0, end);
}

/** What a decision is made on; what it comes to is in `memory`. */
export interface Reading {
  memory: WorkingMemory;
  /** Oldest first. */
  turns: readonly TurnToRead[];
  /** Names of the sections that may be written. */
  sections: readonly string[];
  /** When what a section says was said. */
  newestIn: ReadonlyMap<string, Date>;
}

export type DecideMemory = (reading: Reading, signal: AbortSignal) => Promise<void>;

interface RememberParts {
  unread: UnreadStore;
  coreMemory: Pick<CoreMemoryStore, "loadLines" | "leftOutByPeople">;
  decide: DecideMemory;
  sections: readonly string[];
  /** Of the turns that are read together. */
  readingTokens: number;
  /** Null: there is no archive. */
  recall: Recall | null;
  /** Hears of the operations that are written. Default: nobody. */
  observer?: Observer;
}

/** Messages read together: 20 turns, or as many messages without a partner. Turns that come while the agent is at work wait and are read together. */
const STEP_MESSAGES = 40;
/** Decisions on one reading, when people or another process change what they were made on. */
const DECISIONS = 5;
/** Episodes of all types among which those of one type are chosen. */
const LOOKED_AT = 100;

/** An answer to nothing says nothing of the user; an imported message that nobody answered was said all the same. */
function toTurns({ asked, answer, toldBy }: ReadExchange): TurnToRead[] {
  if (!asked || toldBy.isKnown) return [];
  const actor = toldBy.imported ? "import" : "agent";
  return [{ messageId: asked.id, userMessage: asked.content, assistantMessage: answer?.content ?? "", saidAt: asked.createdAt, actor }];
}

interface Taken {
  turns: TurnToRead[];
  /** What is read of it now. */
  read: UnreadConversation;
  /** Null: turns that are read again move no cursor. */
  through: Cursor | null;
}

/** The turns that are read together, as many as fit; null when there is none. */
function take(unread: UnreadConversation, readingTokens: number): Taken | null {
  const exchanges = toExchanges(unread.messages);
  const taken = exchangesThatFit(exchanges, readingTokens);
  const turns = taken.flatMap(toTurns);
  if (unread.again) {
    // A turn that is not there any more, or has no answer, is read by being passed over.
    const later = new Set(exchanges.slice(taken.length).map((exchange) => firstMessageOf(exchange).id));
    const read = {
      ...unread,
      again: unread.again.filter((id) => !later.has(id)),
      messages: taken.map(({ toldBy }) => toldBy),
    };
    return { turns, read, through: null };
  }
  const last = (taken.length < exchanges.length && taken.at(-1)?.toldBy) || unread.messages.at(-1);
  return last ? { turns, read: unread, through: { createdAt: last.createdAt, id: last.id } } : null;
}

/** Searches the archive as a turn would; more is looked at where only one type is wanted. */
function makeSearch(recall: Recall, owner: Owner, signal: AbortSignal) {
  return async (query: string, limit: number, episodeType?: string): Promise<RecalledEpisode[]> => {
    const { episodes } = await recall({ ...owner, question: query, limit: episodeType ? LOOKED_AT : limit, signal });
    return episodes.filter((episode) => episodeType === undefined || episode.episodeType === episodeType).slice(0, limit);
  };
}

/** A change of a section is an operation too. */
function tellOperations(observer: Observer, { changes, operations }: ReadingResult): void {
  changes.forEach(() => observer.tell({ happened: "memory_operation", operation: "core_update", refused: false }));
  for (const { operation, refused } of operations) observer.tell({ happened: "memory_operation", operation, refused: refused !== null });
}

/**
 * The memory agent's job: reads the completed turns and imported messages that it has not read, decides, and writes what it decided together with how far it has
 * read. When a section was changed meanwhile it decides anew on what there is now, so that nobody's write is lost.
 */
export function makeRememberTurns(parts: RememberParts): JobHandler<RememberJob> {
  const { unread, coreMemory, decide, sections, readingTokens, recall, observer = NOOP_OBSERVER } = parts;
  return {
    async step({ tenantId, userId }, signal) {
      const owner = { tenantId, userId };
      for (let decision = 0; decision < DECISIONS; decision++) {
        // Read anew each time: what was erased while the agent decided is not given to it again.
        const read = await unread.next(owner, STEP_MESSAGES);
        if (!read) return;
        const taken = take(read, readingTokens);
        if (!taken) return;
        const { turns } = taken;
        const known = await coreMemory.loadLines(owner);
        const memory = makeWorkingMemory({
          conversationId: read.conversationId,
          sections: known,
          allowed: sections,
          leftOut: taken.read.again ? await coreMemory.leftOutByPeople(owner, taken.read.again) : new Set(),
          search: recall && makeSearch(recall, owner, signal),
        });
        const newestIn = new Map(known.map(({ section, saidAt }) => [section, saidAt]));
        if (turns.length > 0) await decide({ memory, turns, sections, newestIn }, signal);
        signal.throwIfAborted();
        const result = memory.result();
        const outcome = await unread.save(owner, taken.read, taken.through, result);
        if (outcome === "saved") tellOperations(observer, result);
        if (outcome !== "stale") return;
      }
      throw new AppError("turn_superseded", "The core memory changed each time while the memory agent was deciding.");
    },

    async remaining(transaction, owner) {
      return (await unread.lockAndCheck(transaction, owner)) ? "more" : "nothing";
    },
  };
}
