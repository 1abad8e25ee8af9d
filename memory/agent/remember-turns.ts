import { AppError } from "../../errors/app-error.ts";
import type { RememberJob } from "../../stores/jobs/job.ts";
import type { CoreMemoryStore } from "../../stores/postgres/core-memory-store.ts";
import type { UnreadMessage, UnreadStore } from "../../stores/postgres/unread-store.ts";
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
}

/** Messages read together: 20 turns. Turns that come while the agent is at work wait and are read together. */
const STEP_MESSAGES = 40;
/** Decisions on one reading, when people or another process change what they were made on. */
const DECISIONS = 5;

function toTurn({ asked, answer }: MessagePair<UnreadMessage>): TurnToRead {
  const actor = asked.imported ? "import" : "agent";
  return { messageId: asked.id, userMessage: asked.content, assistantMessage: answer.content, saidAt: asked.createdAt, actor };
}

/**
 * The memory agent's job: reads the completed turns that it has not read, decides, and writes what it decided together with how far it has
 * read. When a section was changed meanwhile it decides anew on what there is now, so that nobody's write is lost.
 */
export function makeRememberTurns({ unread, coreMemory, decide, sections, readingTokens, recall }: RememberParts): JobHandler<RememberJob> {
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
        const outcome = await unread.save(owner, read, { createdAt: through.createdAt, id: through.id }, memory.result());
        if (outcome !== "stale") return;
      }
      throw new AppError("turn_superseded", "The core memory changed each time while the memory agent was deciding.");
    },

    async remaining(transaction, owner) {
      return (await unread.lockAndLook(transaction, owner)) ? "more" : "nothing";
    },
  };
}
