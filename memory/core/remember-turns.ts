import { AppError } from "../../errors/app-error.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { RememberJob } from "../../stores/jobs/job.ts";
import type { CoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import type { Owner } from "../../turn/owner.ts";
import type { Cursor } from "../../stores/page.ts";
import { type Exchange, firstMessageOf, type ReadExchange, toExchanges } from "../../stores/postgres/conversations/exchanges.ts";
import type { FollowPaths } from "../../stores/postgres/memory/follow-paths.ts";
import type { ReadingResult, UnreadConversation, UnreadStore } from "../../stores/postgres/memory/unread-store.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { Recall, RecalledEpisode } from "../recall/recall-episodes.ts";
import type { SourceMessage } from "./section-drafts.ts";
import { makeToolRunner, type ToolRunner } from "./run-tool-calls.ts";
import { EpisodeType } from "../../turn/state.ts";
import { estimateTokens } from "../../text/tokens.ts";

/** A completed turn, or an imported message of the user. */
export interface TurnToRead extends SourceMessage {
  userMessage: string;
  /** Empty: there is none. */
  assistantMessage: string;
}

/** What the memory agent reads together. Its decision goes to `memory`. */
export interface Reading {
  memory: ToolRunner;
  /** Oldest first. */
  turns: readonly TurnToRead[];
  /** The sections that may be written. */
  sections: readonly string[];
  /** When the newest fact of each section was said. */
  newestIn: ReadonlyMap<string, Date>;
}

/** Decides, and returns how many of the turns it has read, oldest first; undefined: all. */
export type DecideMemory = (reading: Reading, signal: AbortSignal) => Promise<number | void>;

interface RememberParts {
  unread: UnreadStore;
  followPaths: FollowPaths;
  coreMemory: Pick<CoreMemoryStore, "loadLines" | "leftOutByPeople">;
  decide: DecideMemory;
  sections: readonly string[];
  readingTokens: number;
  recall: Recall | null;
  observer?: Observer;
}

/** Messages read together. */
const MAX_MESSAGES = 40;
/** The most decisions on one reading when others change the sections meanwhile. */
const MAX_DECISIONS = 5;

/**
 * The memory agent's job: reads unread turns, decides, and saves the decisions with its position. When a section changed meanwhile it
 * decides again, so no write is lost.
 */
export function makeRememberTurns(parts: RememberParts): JobHandler<RememberJob> {
  const { unread, followPaths, coreMemory, decide, sections, readingTokens, recall, observer = NOOP_OBSERVER } = parts;
  return {
    async step({ tenantId, userId }, signal) {
      const owner = { tenantId, userId };
      for (let decision = 0; decision < MAX_DECISIONS; decision++) {
        // Reads anew each time, without what was erased meanwhile.
        const next = await unread.next(owner, MAX_MESSAGES);
        if ((!next || next.isBehind) && (await followPaths(owner))) continue;
        if (!next) return;
        const exchanges = toExchanges(next.messages);
        const fitting = exchangesThatFit(exchanges, readingTokens);
        const turns = fitting.flatMap(toTurns);
        const messageIds = turns.map(({ messageId }) => messageId);
        const known = await coreMemory.loadLines(owner);
        const memory = makeToolRunner({
          conversationId: next.conversationId,
          sections: known,
          allowed: sections,
          leftOut: next.again ? await coreMemory.leftOutByPeople(owner, messageIds) : new Set(),
          search: recall && makeSearch(recall, owner, signal),
        });
        const newestIn = new Map(known.map(({ section, saidAt }) => [section, saidAt]));
        const count = turns.length > 0 ? (await decide({ memory, turns, sections, newestIn }, signal)) || turns.length : 0;
        signal.throwIfAborted();
        const done = readUpTo(next, exchanges, exchangesOf(fitting, count));
        if (!done) return;
        const result = memory.result();
        const outcome = await unread.save(owner, done.read, done.through, result);
        if (outcome === "saved") reportOperations(observer, result);
        if (count < turns.length) observer.tell({ happened: "turns_put_off", turns: turns.length - count });
        if (outcome !== "stale") return;
      }
      throw new AppError("turn_superseded", "The core memory changed each time while the memory agent was deciding.");
    },

    async remaining(transaction, owner) {
      return (await unread.lockAndCheck(transaction, owner)) ? "more" : "nothing";
    },

    doneWhen: (owner) => unread.whenRead(owner),
  };
}

/** How many exchanges the first `count` turns fill. */
function exchangesOf(exchanges: readonly ReadExchange[], count: number): number {
  let turns = 0;
  const end = exchanges.findIndex((exchange) => (turns += toTurns(exchange).length) > count);
  return end < 0 ? exchanges.length : end;
}

/** What is read after the first `count` exchanges, with the new cursor; null: turns read again move none. */
function readUpTo(
  unread: UnreadConversation,
  exchanges: readonly ReadExchange[],
  count: number,
): { read: UnreadConversation; through: Cursor | null } | null {
  const later = exchanges.slice(count);
  if (unread.again) {
    // What is gone, or has no answer, counts as read.
    const ids = new Set(later.map((exchange) => firstMessageOf(exchange).id));
    const messages = exchanges.slice(0, count).map(({ anchor }) => anchor);
    return { read: { ...unread, again: unread.again.filter((id) => !ids.has(id)), messages }, through: null };
  }
  const last = later.length > 0 ? exchanges[count - 1]?.anchor : unread.messages.at(-1);
  return last ? { read: unread, through: { createdAt: last.createdAt, id: last.id } } : null;
}

/** Longer messages are shortened in the prompt. */
export function maxMessageTokens(readingTokens: number): number {
  return Math.floor(readingTokens / 4);
}

/** The exchanges that fit, long messages counted as shortened; at least one. */
function exchangesThatFit<Read extends Exchange<{ content: string }>>(exchanges: readonly Read[], readingTokens: number): Read[] {
  const most = maxMessageTokens(readingTokens);
  let tokens = 0;
  const end = exchanges.findIndex(({ asked, answer }, index) => {
    for (const message of [asked, answer]) if (message) tokens += Math.min(estimateTokens(message.content), most);
    return tokens > readingTokens && index > 0;
  });
  return end < 0 ? [...exchanges] : exchanges.slice(0, end);
}

/** Empty for an answer without a question. */
function toTurns({ asked, answer, anchor }: ReadExchange): TurnToRead[] {
  if (!asked || anchor.isKnown) return [];
  const actor = anchor.imported ? "import" : "agent";
  return [{ messageId: asked.id, userMessage: asked.content, assistantMessage: answer?.content ?? "", saidAt: asked.createdAt, actor }];
}

/** Searches every type, whatever turns recall: all of it can be corrected. */
function makeSearch(recall: Recall, owner: Owner, signal: AbortSignal) {
  return async (query: string, limit: number, episodeType?: EpisodeType): Promise<RecalledEpisode[]> =>
    (await recall({ ...owner, question: query, limit, episodeTypes: episodeType ? [episodeType] : EpisodeType.options, signal })).episodes;
}

function reportOperations(observer: Observer, { changes, operations }: ReadingResult): void {
  changes.forEach(() => observer.tell({ happened: "memory_operation", operation: "core_update", refused: false }));
  for (const { operation, refused } of operations) observer.tell({ happened: "memory_operation", operation, refused: refused !== null });
}
