import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../turn/owner.ts";
import { makeCoreMemoryStore, type SectionVersion } from "../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { lockOwner } from "../../../stores/postgres/paths/locks.ts";
import { makeOperationStore, type MemoryOperation, type StoredOperation } from "../../../stores/postgres/memory/operation-store.ts";
import { writeSections, type SectionChange, type StoredSection } from "../../../stores/postgres/memory/write-sections.ts";
import type { MemoryToArchive } from "../../../stores/postgres/memory/archive-store.ts";

/** What the agent changes after a turn, whatever is there, unless `fields` say otherwise. */
export function sampleChange(fields: Partial<SectionChange> = {}): SectionChange {
  return {
    section: "profile",
    content: "Has a cat.",
    expectedVersion: undefined,
    actor: "agent",
    reason: null,
    conversationId: null,
    triggerMessageIds: [],
    lineChange: null,
    saidAt: null,
    ...fields,
  };
}

/** A search that the agent has done, unless `fields` say otherwise. */
export function sampleOperation(fields: Partial<MemoryOperation> = {}): MemoryOperation {
  return {
    id: uuidv7(),
    operation: "archival_search",
    section: null,
    version: null,
    oldValue: null,
    newValue: null,
    reason: "cats",
    actor: "agent",
    refused: null,
    episodeType: null,
    importance: null,
    memoryId: null,
    restsOn: null,
    resultsCount: 0,
    topResult: null,
    conversationId: null,
    triggerMessageIds: [],
    ...fields,
  };
}

export function sampleMemory(triggerMessageId: string, fields: Partial<MemoryToArchive> = {}): MemoryToArchive {
  return {
    id: uuidv7(),
    triggerMessageIds: [triggerMessageId],
    content: "Met Grace in Porto.",
    episodeType: "context",
    importance: 0.5,
    ...fields,
  };
}

export async function teach(database: Database, owner: Owner, fields: Partial<SectionChange>): Promise<StoredSection> {
  const written = await database.transaction(async (transaction) => {
    await lockOwner(transaction, owner);
    return writeSections(transaction, owner, [sampleChange(fields)]);
  });
  const [section] = written ?? [];
  if (!section) throw new Error("the section was not written");
  return section;
}

export async function contentsOf(database: Database, owner: Owner): Promise<Record<string, string>> {
  const { sections } = await makeCoreMemoryStore(database).load(owner);
  return Object.fromEntries(sections.map(({ section, content }) => [section, content]));
}

/** All versions of a section, the oldest first. */
export async function versionsOf(database: Database, owner: Owner, section = "profile"): Promise<SectionVersion[]> {
  return (await makeCoreMemoryStore(database).history(owner, section, { limit: 1_000, before: null })).reverse();
}

/** All operations of a user, the oldest first. */
export async function operationsOf(database: Database, owner: Owner): Promise<StoredOperation[]> {
  return (await makeOperationStore(database).list(owner, { limit: 1_000, after: null })).items.reverse();
}
