import { v7 as uuidv7 } from "uuid";
import { type JobQueue, makeJobQueue } from "../../jobs/job-queue.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { lockConversation, lockOwnerShared } from "../paths/locks.ts";
import type { Database } from "../database/database.ts";
import { archiveMemories } from "./archive-store.ts";
import { addOperations, NO_VALUES } from "./operation-store.ts";

export interface MemoryToSave {
  content: string;
  /** 0 to 1. */
  importance: number;
  /** The user's message of the turn that saves it. */
  messageId: string;
}

/** Memories that agents save of their own accord. */
export interface SavedMemoryStore {
  /** Archives it, logs the operation and adds the index job, all or nothing. False when the conversation has it already. */
  save(conversation: OwnedConversation, memory: MemoryToSave): Promise<boolean>;
}

export function makeSavedMemoryStore(database: Database, queue: JobQueue = makeJobQueue(database)): SavedMemoryStore {
  return {
    save: (conversation, { content, importance, messageId }) =>
      queue.transaction(async (transaction, jobs) => {
        const { tenantId, userId, conversationId } = conversation;
        const owner = { tenantId, userId };
        await lockOwnerShared(transaction, owner);
        if (!(await lockConversation(transaction, conversation))) return false; // erased meanwhile
        const triggerMessageIds = [messageId];
        const memory = { id: uuidv7(), triggerMessageIds, content, episodeType: "context", importance };
        const added = await archiveMemories(transaction, conversation, [memory]);
        if (added.size === 0) return false;
        const about = { memoryId: memory.id, newValue: content, episodeType: memory.episodeType, importance };
        const from = { actor: "agent" as const, conversationId, triggerMessageIds };
        await addOperations(transaction, owner, [{ ...NO_VALUES, id: uuidv7(), operation: "archival_insert", ...about, ...from }]);
        await jobs.add([{ ...owner, kind: "index_episodes", conversationId }]);
        return true;
      }),
  };
}
