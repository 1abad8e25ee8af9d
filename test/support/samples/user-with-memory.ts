import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../turn/owner.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { sampleChange, sampleMemory, sampleOperation } from "./core-memory.ts";
import { decided, endOf, readNext } from "./sample-reading.ts";
import { addJobs } from "./sample-jobs.ts";
import { completeTurn, sampleAnswer, sampleTurn } from "./sample-turns.ts";
import { storesOf } from "../databases/describe-stores.ts";
import { sampleSummary } from "../databases/stored-conversation.ts";
import type { BegunTurn } from "../../../stores/postgres/turns/recover-turn.ts";

export interface StoredExchange extends BegunTurn {
  answerId: string;
}

/** A conversation with everything that memory makes of it; `word` is in every text. */
export interface RememberedConversation extends Owner {
  conversationId: string;
  sessionId: string;
  exchanges: StoredExchange[];
  memoryId: string;
}

/** Stores an exchange whose two texts hold `word`. */
export async function storeExchange(database: Database, owner: Owner, sessionId: string, word: string): Promise<StoredExchange> {
  const answerId = uuidv7();
  const turn = sampleTurn({ ...owner, sessionId, message: `Question about ${word}` });
  const answer = sampleAnswer({ messageId: answerId, content: `Answer about ${word}`, metadata: { turn_id: turn.turnId } });
  return { ...(await completeTurn(storesOf(database).turns, turn, answer)), answerId };
}

/**
 * A conversation of two exchanges that was read by the memory agent (a section named `section`, an archived memory, a search, all of the
 * first exchange) and summarised; three jobs wait.
 */
export async function rememberConversation(
  database: Database,
  owner: Owner,
  word: string,
  section = "profile",
): Promise<RememberedConversation> {
  const sessionId = `session ${word}`;
  const exchanges = [await storeExchange(database, owner, sessionId, word), await storeExchange(database, owner, sessionId, word)];
  const [first] = exchanges;
  if (!first) throw new Error("there is no exchange");
  const { conversationId } = first;
  const from = { conversationId, triggerMessageIds: [first.messageId] };
  const { summaries, unread } = storesOf(database);
  const read = await readNext(unread, owner);
  if (read.conversationId !== conversationId) throw new Error("another conversation is unread");
  const memory = sampleMemory(first.messageId, { content: `Memory of ${word}` });
  const outcome = await unread.save(
    owner,
    read,
    endOf(read),
    decided({
      changes: [sampleChange({ ...from, section, content: `Knows ${word}`, reason: `Said ${word}` })],
      operations: [
        sampleOperation({ ...from, operation: "archival_insert", newValue: memory.content, reason: null }),
        sampleOperation({ ...from, reason: `query of ${word}` }),
      ],
      archived: [memory],
    }),
  );
  if (outcome !== "saved") throw new Error(`the reading is ${outcome}`);
  const conversation = { ...owner, conversationId };
  const isSaved = await summaries.save(conversation, sampleSummary(endOf(read), { text: `Summary of ${word}` }));
  if (!isSaved) throw new Error("the summary was not saved");
  await addJobs(makeJobQueue(database), { kind: "summarise", ...conversation }, { kind: "remember", ...owner });
  return { ...conversation, sessionId, exchanges, memoryId: memory.id };
}
