import { decideByRules } from "../../../memory/agent/decide-by-rules.ts";
import { DEFAULT_SECTIONS } from "../../../memory/agent/core-sections.ts";
import { type DecideMemory, makeRememberTurns, type Reading } from "../../../memory/agent/remember-turns.ts";
import type { Owner } from "../../../stores/owner.ts";
import { makeCoreMemoryStore } from "../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { makeTurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { makeUnreadStore } from "../../../stores/postgres/memory/memory-agent-store.ts";
import { completeTurn, sampleAnswer, sampleTurn } from "./sample-turns.ts";

/** A user of its own whose turns the memory agent reads, step by step, without a queue. */
export interface ReadingAgent {
  owner: Owner;
  /** Stores a turn with its answer, in the conversation of a session. */
  say(message: string, sessionId?: string, answer?: { content?: string; completed?: boolean } | null): Promise<string>;
  /** Stores imported turns, each a minute after the one before. */
  bring(at: string, messages: readonly string[], sessionId?: string): Promise<void>;
  /** One step of the job; `decide`, by rules unless given, may be followed by what a test does meanwhile. */
  step(decide?: DecideMemory, database?: Database, signal?: AbortSignal): Promise<void>;
  /** Steps until nothing is left to read; how many. */
  readAll(decide?: DecideMemory): Promise<number>;
}

export function readingAgent(database: Database, owner: Owner = { tenantId: "tenant", userId: crypto.randomUUID() }): ReadingAgent {
  const handlerOf = (decide: DecideMemory, where: Database) =>
    makeRememberTurns({
      unread: makeUnreadStore(where),
      coreMemory: makeCoreMemoryStore(where),
      decide,
      sections: DEFAULT_SECTIONS,
      readingTokens: Infinity,
      recall: null,
    });
  const job = { kind: "remember" as const, ...owner };
  const agent: ReadingAgent = {
    owner,
    async say(message, sessionId = "s", answer = {}) {
      const turn = sampleTurn({ ...owner, sessionId, message });
      const { messageId } = await completeTurn(makeTurnStore(database), turn, answer && sampleAnswer(answer));
      return messageId;
    },
    async bring(at, messages, sessionId = "s") {
      const rows = messages.flatMap((content, number) => {
        const asked = new Date(Date.parse(at) + number * 60_000);
        return [
          { role: "user" as const, content, createdAt: asked, metadata: {} },
          { role: "assistant" as const, content: "Noted.", createdAt: new Date(asked.getTime() + 1_000), metadata: {} },
        ];
      });
      await makeImportStore(database).import({ ...owner, sessionId, messages: rows, jobKinds: [] });
    },
    step: (decide = decideByRules, where = database, signal = new AbortController().signal) => handlerOf(decide, where).step(job, signal),
    async readAll(decide = decideByRules) {
      const handler = handlerOf(decide, database);
      for (let count = 1; count <= 50; count++) {
        await handler.step(job, new AbortController().signal);
        if ((await database.transaction((transaction) => handler.remaining(transaction, job, false))) !== "more") return count;
      }
      throw new Error("more is left to read after 50 steps");
    },
  };
  return agent;
}

/** Writes a section as the last turn that is read gave rise to it. */
export async function writeFor({ memory, turns }: Reading, section: string, content: string): Promise<void> {
  const turn = turns.at(-1);
  if (turn) await memory.call({ name: "core_memory_update", arguments: { section, content } }, [turn]);
}
