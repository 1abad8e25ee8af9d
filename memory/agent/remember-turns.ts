import { AppError } from "../../errors/app-error.ts";
import { NOBODY, type Observer } from "../../observe/observer.ts";
import type { RememberJob } from "../../stores/jobs/job.ts";
import type { CoreMemoryStore } from "../../stores/postgres/core-memory-store.ts";
import type { ReadingResult, UnreadMessage, UnreadStore } from "../../stores/postgres/unread-store.ts";
import { completeTurns } from "../complete-turns.ts";
import type { MessagePair } from "../episodes/pair-messages.ts";
import type { JobHandler } from "../jobs/job-handler.ts";
import type { Recall } from "../recall/recall-episodes.ts";
import { takeReading } from "./take-reading.ts";
import type { TurnToRead } from "./turn-to-read.ts";
import { makeWorkingMemory, type WorkingMemory } from "./working-memory.ts";

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

export interface RememberParts {
  unread: UnreadStore;
  coreMemory: Pick<CoreMemoryStore, "load">;
  decide: DecideMemory;
  sections: readonly string[];
  /** Of the turns that are read together. */
  readingTokens: number;
  /** Null: there is no archive. */
  recall: Recall | null;
  /** Hears of the operations that are written. Default: nobody. */
  observer?: Observer;
}

/** Messages read together: 20 turns. Turns that come while the agent is at work wait and are read together. */
const STEP_MESSAGES = 40;
/** Decisions on one reading, when people or another process change what they were made on. */
const DECISIONS = 5;

function toTurn({ asked, answer }: MessagePair<UnreadMessage>): TurnToRead {
  const actor = asked.imported ? "import" : "agent";
  return { messageId: asked.id, userMessage: asked.content, assistantMessage: answer.content, saidAt: asked.createdAt, actor };
}

/** A change of a section is an operation too. */
function tellOperations(observer: Observer, { changes, operations }: ReadingResult): void {
  changes.forEach(() => observer.tell({ happened: "memory_operation", operation: "core_update", refused: false }));
  for (const { operation, refused } of operations) observer.tell({ happened: "memory_operation", operation, refused: refused !== null });
}

/**
 * The memory agent's job: reads the completed turns that it has not read, decides, and writes what it decided together with how far it has
 * read. When a section was changed meanwhile it decides anew on what there is now, so that nobody's write is lost.
 */
export function makeRememberTurns(parts: RememberParts): JobHandler<RememberJob> {
  const { unread, coreMemory, decide, sections, readingTokens, recall, observer = NOBODY } = parts;
  return {
    async step({ tenantId, userId }, signal) {
      const owner = { tenantId, userId };
      for (let decision = 0; decision < DECISIONS; decision++) {
        // Read anew each time: what was erased while the agent decided is not given to it again.
        const read = await unread.next(owner, STEP_MESSAGES);
        if (!read) return;
        const { pairs, through: last } = completeTurns(read.messages, STEP_MESSAGES);
        if (!last) return;
        const taken = takeReading(pairs, readingTokens);
        const through = taken.length < pairs.length ? (taken.at(-1)?.answer ?? last) : last;
        const turns = taken.filter(({ asked }) => !asked.isKnown).map(toTurn);
        const { sections: known } = await coreMemory.load(owner);
        const memory = makeWorkingMemory({
          conversationId: read.conversationId,
          sections: known,
          allowed: sections,
          search: recall && (async (query, limit) => (await recall({ ...owner, question: query, limit, signal })).episodes),
        });
        const newestIn = new Map(known.map(({ section, saidAt }) => [section, saidAt]));
        if (turns.length > 0) await decide({ memory, turns, sections, newestIn }, signal);
        signal.throwIfAborted();
        const result = memory.result();
        const outcome = await unread.save(owner, read, { createdAt: through.createdAt, id: through.id }, result);
        if (outcome === "saved") tellOperations(observer, result);
        if (outcome !== "stale") return;
      }
      throw new AppError("turn_superseded", "The core memory changed each time while the memory agent was deciding.");
    },

    async remaining(transaction, owner) {
      return (await unread.lockAndLook(transaction, owner)) ? "more" : "nothing";
    },
  };
}
