import { decideByRules } from "../../../memory/core/decide-by-rules.ts";
import { DEFAULT_SECTIONS } from "../../../memory/core/tool-schemas.ts";
import { type DecideMemory, makeRememberTurns, type Reading } from "../../../memory/core/remember-turns.ts";
import { type Happening, NOOP_OBSERVER } from "../../../observe/observer.ts";
import type { Owner } from "../../../turn/owner.ts";
import { makeFollowPaths } from "../../../stores/postgres/memory/follow-paths.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { storesOf } from "../databases/describe-stores.ts";
import { completeTurn, sampleAnswer, sampleTurn } from "./sample-turns.ts";

export type ReadingAgent = ReturnType<typeof readingAgent>;

/** A user whose turns the memory agent reads, step by step, without a queue. */
export function readingAgent(database: Database, owner: Owner = { tenantId: "tenant", userId: crypto.randomUUID() }) {
  const handlerOf = (decide: DecideMemory, where: Database, told: Happening[] = []) => {
    const { unread, coreMemory } = storesOf(where);
    const followPaths = makeFollowPaths(where);
    return makeRememberTurns({
      unread,
      followPaths,
      coreMemory,
      decide,
      sections: DEFAULT_SECTIONS,
      readingTokens: Infinity,
      recall: null,
      observer: { ...NOOP_OBSERVER, tell: (happening) => void told.push(happening) },
    });
  };
  const { turns, imports } = storesOf(database);
  const job = { kind: "remember" as const, ...owner };
  return {
    owner,
    /** Stores a turn with its answer; the id of the message. */
    async say(message: string, sessionId = "s", answer: { content?: string; completed?: boolean } | null = {}): Promise<string> {
      const turn = sampleTurn({ ...owner, sessionId, message });
      const { messageId } = await completeTurn(turns, turn, answer && sampleAnswer(answer));
      return messageId;
    },
    /** Imports turns, each a minute after the one before. */
    async bring(at: string, messages: readonly string[], sessionId = "s"): Promise<void> {
      const rows = messages.flatMap((content, number) => {
        const asked = new Date(Date.parse(at) + number * 60_000);
        return [
          { role: "user" as const, content, createdAt: asked, metadata: {} },
          { role: "assistant" as const, content: "Noted.", createdAt: new Date(asked.getTime() + 1_000), metadata: {} },
        ];
      });
      await imports.import({ ...owner, sessionId, messages: rows, jobKinds: [] });
    },
    step: (decide: DecideMemory = decideByRules, where = database, signal = new AbortController().signal) =>
      handlerOf(decide, where).step(job, signal),
    /** Steps until nothing is left to read; how many. */
    async readAll(decide: DecideMemory = decideByRules, told: Happening[] = []): Promise<number> {
      const handler = handlerOf(decide, database, told);
      for (let count = 1; count <= 50; count++) {
        await handler.step(job, new AbortController().signal);
        if ((await database.transaction((transaction) => handler.remaining(transaction, job, false))) !== "more") return count;
      }
      throw new Error("more is left to read after 50 steps");
    },
  };
}

export async function writeFor({ memory, turns }: Reading, section: string, content: string): Promise<void> {
  const turn = turns.at(-1);
  if (turn) await memory.call({ name: "core_memory_update", arguments: { section, content } }, [turn]);
}
