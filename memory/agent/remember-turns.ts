import { AppError } from "../../errors/app-error.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { RememberJob } from "../../stores/jobs/job.ts";
import type { CoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import type { Owner } from "../../stores/owner.ts";
import type { Cursor } from "../../stores/page.ts";
import { type Exchange, firstMessageOf, type ReadExchange, toExchanges } from "../../stores/postgres/conversations/exchanges.ts";
import type { ReadingResult, UnreadConversation, UnreadStore } from "../../stores/postgres/memory/memory-agent-store.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { Recall, RecalledEpisode } from "../recall/recall-episodes.ts";
import type { SourceMessage } from "./section-drafts.ts";
import { makeWorkingMemory, type WorkingMemory } from "./working-memory.ts";
import { estimateTokens } from "../../text/tokens.ts";

/** A completed turn, or an imported message of the user, as the memory agent reads it. The message is the user's. */
export interface TurnToRead extends SourceMessage {
  userMessage: string;
  /** Empty: there is none. */
  assistantMessage: string;
}

/** The turns that the memory agent reads together, and what it decides on. The decision goes to `memory`. */
export interface Reading {
  memory: WorkingMemory;
  /** Oldest first. */
  turns: readonly TurnToRead[];
  /** Names of the sections that may be written. */
  sections: readonly string[];
  /** When what a section says was said. */
  newestIn: ReadonlyMap<string, Date>;
}

/** Reads turns and writes to `memory` what they change. A model does it, or rules. */
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

/** Messages read together: 20 turns, or as many messages without a partner. Turns that end while the agent is at work wait for the next reading. */
const MAX_MESSAGES = 40;
/** Decisions on one reading, when people or another process change the sections meanwhile. */
const MAX_DECISIONS = 5;
/** Episodes that are searched for those of one type. */
const MAX_CANDIDATES = 100;

/**
 * The memory agent's job: reads the completed turns and imported messages that it has not read yet, decides, and saves the decisions
 * together with how far it has read. When a section was changed meanwhile it decides again on what there is now: no write is lost.
 */
export function makeRememberTurns(parts: RememberParts): JobHandler<RememberJob> {
  const { unread, coreMemory, decide, sections, readingTokens, recall, observer = NOOP_OBSERVER } = parts;
  return {
    async step({ tenantId, userId }, signal) {
      const owner = { tenantId, userId };
      for (let decision = 0; decision < MAX_DECISIONS; decision++) {
        // Read anew each time: what was erased while the agent decided is not given to it again.
        const next = await unread.next(owner, MAX_MESSAGES);
        if (!next) return;
        const batch = takeBatch(next, readingTokens);
        if (!batch) return;
        const { turns } = batch;
        const known = await coreMemory.loadLines(owner);
        const memory = makeWorkingMemory({
          conversationId: next.conversationId,
          sections: known,
          allowed: sections,
          leftOut: batch.read.again ? await coreMemory.leftOutByPeople(owner, batch.read.again) : new Set(),
          search: recall && makeSearch(recall, owner, signal),
        });
        const newestIn = new Map(known.map(({ section, saidAt }) => [section, saidAt]));
        if (turns.length > 0) await decide({ memory, turns, sections, newestIn }, signal);
        signal.throwIfAborted();
        const result = memory.result();
        const outcome = await unread.save(owner, batch.read, batch.through, result);
        if (outcome === "saved") reportOperations(observer, result);
        if (outcome !== "stale") return;
      }
      throw new AppError("turn_superseded", "The core memory changed each time while the memory agent was deciding.");
    },

    async remaining(transaction, owner) {
      return (await unread.lockAndCheck(transaction, owner)) ? "more" : "nothing";
    },
  };
}

/** What is read now of the unread messages of a conversation. */
interface Batch {
  turns: TurnToRead[];
  /** As `unread` gave it, without what is read later. */
  read: UnreadConversation;
  /** Null: turns that are read again move no cursor. */
  through: Cursor | null;
}

/** The oldest unread turns, as many as fit; null when there is none. */
function takeBatch(unread: UnreadConversation, readingTokens: number): Batch | null {
  const exchanges = toExchanges(unread.messages);
  const taken = exchangesThatFit(exchanges, readingTokens);
  const turns = taken.flatMap(toTurns);
  if (unread.again) {
    // A turn that is not there any more, or has no answer, is read by being passed over.
    const later = new Set(exchanges.slice(taken.length).map((exchange) => firstMessageOf(exchange).id));
    const read = {
      ...unread,
      again: unread.again.filter((id) => !later.has(id)),
      messages: taken.map(({ anchor }) => anchor),
    };
    return { turns, read, through: null };
  }
  const last = (taken.length < exchanges.length && taken.at(-1)?.anchor) || unread.messages.at(-1);
  return last ? { turns, read: unread, through: { createdAt: last.createdAt, id: last.id } } : null;
}

/** Tokens that one message may have in the prompt of a reading: a fourth. A longer one is shortened. */
export function maxMessageTokens(readingTokens: number): number {
  return Math.floor(readingTokens / 4);
}

/** The oldest exchanges that fit into a reading, long messages counted as they are shortened; at least one. */
function exchangesThatFit<Read extends Exchange<{ content: string }>>(exchanges: readonly Read[], readingTokens: number): Read[] {
  const most = maxMessageTokens(readingTokens);
  let tokens = 0;
  const end = exchanges.findIndex(({ asked, answer }, index) => {
    for (const message of [asked, answer]) if (message) tokens += Math.min(estimateTokens(message.content), most);
    return tokens > readingTokens && index > 0;
  });
  return end < 0 ? [...exchanges] : exchanges.slice(0, end);
}

/** An answer to nothing says nothing of the user; an imported message that nobody answered was said all the same. */
function toTurns({ asked, answer, anchor }: ReadExchange): TurnToRead[] {
  if (!asked || anchor.isKnown) return [];
  const actor = anchor.imported ? "import" : "agent";
  return [{ messageId: asked.id, userMessage: asked.content, assistantMessage: answer?.content ?? "", saidAt: asked.createdAt, actor }];
}

/** Searches the archive as a turn would; more is looked at where only one type is wanted. */
function makeSearch(recall: Recall, owner: Owner, signal: AbortSignal) {
  return async (query: string, limit: number, episodeType?: string): Promise<RecalledEpisode[]> => {
    const { episodes } = await recall({ ...owner, question: query, limit: episodeType ? MAX_CANDIDATES : limit, signal });
    return episodes.filter((episode) => episodeType === undefined || episode.episodeType === episodeType).slice(0, limit);
  };
}

/** Tells the observer of every operation; a change of a section is one too. */
function reportOperations(observer: Observer, { changes, operations }: ReadingResult): void {
  changes.forEach(() => observer.tell({ happened: "memory_operation", operation: "core_update", refused: false }));
  for (const { operation, refused } of operations) observer.tell({ happened: "memory_operation", operation, refused: refused !== null });
}
