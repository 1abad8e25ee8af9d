import { beforeAll, beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { findResidualData } from "../../../../memory/erase/find-residual-data.ts";
import { makeEraseJob } from "../../../../memory/erase/erase-jobs.ts";
import { makeJobQueue } from "../../../../stores/jobs/job-queue.ts";
import type { EntriesToSweep } from "../../../../stores/postgres/conversations/erase-markers.ts";
import { makeEraseStore } from "../../../../stores/postgres/erase/erase-store.ts";
import { makeErasureStore } from "../../../../stores/postgres/erase/erasure-store.ts";
import { makeDocumentStore } from "../../../../stores/postgres/knowledge/document-store.ts";
import { makeChunkStore } from "../../../../stores/postgres/knowledge/chunk-store.ts";
import { exportLines, inReadTransaction } from "../../../../stores/postgres/export/export-lines.ts";
import { makeKnowledgeBaseStore } from "../../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { episodeGroupId } from "../../../../stores/index-keys.ts";
import { teach } from "../../../support/samples/core-memory.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { placeOf, storeConversation, summariseThrough } from "../../../support/databases/stored-conversation.ts";
import type { OwnedConversation } from "../../../../turn/owner.ts";

/** What one statement may take out in these tests. */
const AT_ONCE = 40;
const MESSAGES = 5 * AT_ONCE + 7;

/** Tables that grow without bound, and refuse a statement that takes out more than it may. */
const GUARDED = "messages turns archived_memories memory_operations core_memory_versions conversations knowledge_chunks".split(" ");
const GUARD = `
create function refuse_large_statements() returns trigger language plpgsql as $$
begin
  if (select count(*) from gone) > ${AT_ONCE} then raise exception 'a statement took out too many rows of %', tg_table_name; end if;
  return null;
end $$;
${GUARDED.map((table) => `create trigger guard after delete on ${table} referencing old table as gone for each statement execute function refuse_large_statements();`).join("\n")}`;

const ARCHIVE = `
insert into archived_memories (id, conversation_id, trigger_message_id, content, episode_type, importance, created_at)
select gen_random_uuid(), $1, gen_random_uuid(), 'archived ' || number, 'context', 0.5, now() from generate_series(1, $2::int) number`;
const OPERATE = `
insert into memory_operations (id, tenant_id, user_id, operation, actor, created_at)
select gen_random_uuid(), $1, $2, 'archival_search', 'agent', now() from generate_series(1, $3::int)`;

describeStores("an erase of more rows than one statement may take out,", ({ database, conversations, messages, turns, ...stores }) => {
  const erases = makeEraseStore(database, makeJobQueue(database), AT_ONCE);
  let conversation: OwnedConversation & { sessionId: string };
  beforeAll(() => database.query({ text: GUARD }));
  beforeEach(async () => {
    conversation = await storeConversation(database, { count: MESSAGES });
    await summariseThrough(database, conversation, 30);
    await database.query({ text: ARCHIVE, values: [conversation.conversationId, AT_ONCE + 1] });
    await teach(database, conversation, { conversationId: conversation.conversationId });
  });

  const erasures = makeErasureStore(database, makeJobQueue(database), AT_ONCE);
  const erasureIds = async (): Promise<string[]> =>
    (await database.query<{ id: string }>({ text: "select id from erasures where finished_at is null" })).map(({ id }) => id);
  /** Runs the job of every erasure to its end; what the index was to be cleared of. */
  async function takeOutAll(): Promise<EntriesToSweep[]> {
    const cleared: EntriesToSweep[] = [];
    const job = makeEraseJob({ erasures, sweepIndex: async (left) => cleared.push(left) });
    for (const id of await erasureIds()) {
      for (;;) {
        await job.step({ kind: "erase", id }, new AbortController().signal);
        if ((await database.transaction((transaction) => job.remaining(transaction, { kind: "erase", id }, false))) === "nothing") break;
      }
    }
    return cleared;
  }
  const leftovers = async (): Promise<string[]> => (await findResidualData(database, null, conversation)).map(({ place }) => place);
  const exported = (): Promise<string> =>
    inReadTransaction(database, async (transaction) => {
      let text = "";
      for await (const lines of exportLines(transaction, {})) text += lines;
      return text;
    });
  const firstPage = { limit: 50, after: null };

  test("of a conversation, shows nothing of it to anybody at once, and takes it out in batches", async () => {
    const { id: messageId } = await placeOf(database, conversation, 1);
    expect(await exported()).toContain(conversation.conversationId);
    expect(await erases.conversation(conversation)).toMatchObject({ entries: null, erased: { messages: 0 } });

    expect(await conversations.find(conversation, conversation.conversationId)).toBeNull();
    expect((await conversations.list(conversation, firstPage)).items).toEqual([]);
    expect((await messages.list(conversation, firstPage)).items).toEqual([]);
    expect(await messages.find(conversation, messageId)).toBeNull();
    expect(await exported()).not.toContain(conversation.conversationId);
    expect(await erases.conversation(conversation)).toBeNull();
    expect(await leftovers()).toContain("public.messages");

    expect(await takeOutAll()).toEqual([expect.objectContaining({ groupIds: [episodeGroupId(conversation.conversationId)] })]);
    expect(await leftovers()).toEqual(["public.core_memory_versions"]); // that the section is empty now
    for (const trace of [conversation.conversationId, conversation.sessionId])
      expect(Object.keys(await tablesHolding(database, trace)).filter((table) => table !== "public.erasures")).toEqual([]);
  });

  test("of a user, takes out every conversation, core memory and operation, and leaves other users alone", async () => {
    const other = await storeConversation(database, { count: 3 });
    for (let turn = 0; turn < 3; turn++) await stores.complete(conversation);
    await database.query({ text: OPERATE, values: [conversation.tenantId, conversation.userId, 3 * AT_ONCE] });
    expect(await erases.user(conversation)).toMatchObject({ entries: null });

    expect((await conversations.list(conversation, firstPage)).items).toEqual([]);
    expect((await stores.operations.list(conversation, firstPage, null)).items).toEqual([]);
    await takeOutAll();
    expect(await leftovers()).toEqual([]);
    expect(await erases.report(conversation, null)).toMatchObject({
      erased: { messages: MESSAGES + 6, summaries: 1, coreMemorySections: 1, memoryOperations: 3 * AT_ONCE + 1 },
      left: null,
    });
    expect((await messages.list(other, firstPage)).items).toHaveLength(3);
  });

  test("lets its session begin afresh while it is taken out, and forgets the turn that was running and its key", async () => {
    const key = { keyHash: uuidv7(), bodyHash: "b", earlier: null };
    const running = await stores.begin({ ...conversation, key });
    await erases.conversation(conversation);

    expect(await turns.renew(running, 1_000)).toBe(false);
    expect(await turns.finish(running, sampleAnswer(), [{ kind: "summarise", ...conversation }])).toBe("gone");
    expect(await stores.records.find(conversation, running.turnId)).toBeNull();
    const next = await stores.complete({ ...conversation, key });
    expect(next.conversationId).not.toBe(conversation.conversationId);
    await takeOutAll();
    expect((await messages.list({ ...conversation, ...next }, firstPage)).items).toHaveLength(2);
    await erases.user(conversation);
  });

  test("goes on where a process that died had got to, and tells how far it is until it is done, once", async () => {
    await erases.conversation(conversation);
    const [id = ""] = await erasureIds();
    const report = () => erases.report({ tenantId: conversation.tenantId, userId: null }, conversation.conversationId);
    expect(await report()).toMatchObject({
      erased: { messages: 0, coreMemorySections: 1, memoryOperations: 1 },
      left: { messages: MESSAGES },
    });

    while (((await report())?.erased.messages ?? 0) === 0) await erasures.purgeRows(id); // archived memories go first
    expect(await report()).toMatchObject({ erased: { messages: AT_ONCE, summaries: 1 }, left: { messages: MESSAGES - AT_ONCE } });
    await takeOutAll();
    for (const stranger of [{ tenantId: "other" }, { userId: "other" }])
      expect(await erases.report({ ...conversation, ...stranger }, conversation.conversationId)).toBeNull();
    expect(await report()).toMatchObject({ erased: { messages: MESSAGES, episodes: 1 }, left: null });
    expect(await report()).toBeNull();
  });

  test("of a knowledge base, lets nobody read its documents at once, and takes out their passages in batches", async () => {
    const [tenantId, prefix] = [uuidv7(), "manuals"];
    const bases = makeKnowledgeBaseStore(database, makeJobQueue(database), 2);
    const documents = makeDocumentStore(database);
    const chunks = makeChunkStore(database);
    await bases.put(tenantId, { prefix, description: "d", keywords: [] });
    const document = { title: "secret", contentType: "text/plain", bytes: Buffer.from("x"), externalId: null, metadata: {} };
    const added = [];
    for (let number = 0; number < 5; number++) added.push(await documents.add({ tenantId, prefix }, document));
    for (const { id: documentId } of added) {
      const pieces = Array.from({ length: AT_ONCE + 3 }, (_, position) => ({ position, heading: "", text: `piece ${position}` }));
      await chunks.saveChunks({ tenantId, documentId }, pieces);
      await chunks.publish({ tenantId, documentId });
    }
    expect(await bases.remove(tenantId, prefix)).toBe(5);

    expect(await bases.list(tenantId)).toEqual([]);
    expect((await documents.list({ tenantId, prefix }, firstPage)).items).toEqual([]);
    expect(await chunks.findDocument({ tenantId, documentId: added[0]?.id ?? "" })).toBeNull();
    expect(await bases.remove(tenantId, prefix)).toBeNull();
    const cleared = await takeOutAll();
    expect(cleared.flatMap(({ groupIds }) => groupIds).toSorted()).toEqual(added.map(({ id }) => id).toSorted());
    expect(cleared.every(({ of }) => of === "chunks")).toBe(true);
    for (const table of ["knowledge_bases", "knowledge_documents", "knowledge_chunks"])
      expect(await database.query({ text: `select from ${table}` })).toEqual([]);
  });
});
