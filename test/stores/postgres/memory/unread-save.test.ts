import { beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../turn/owner.ts";
import type { ReadingOutcome, ReadingResult, UnreadConversation } from "../../../../stores/postgres/memory/unread-store.ts";
import { contentsOf, sampleChange, sampleMemory, sampleOperation } from "../../../support/samples/core-memory.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { decided, endOf, readNext, sampleResult, saveReading, writtenByReadings } from "../../../support/samples/sample-reading.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

const NOTHING_WRITTEN = { sections: [], versions: [], operations: [], archived: [], cursors: [], jobs: [] };

describeStores("saving what the memory agent decided", ({ database, unread, coreMemory, erases, imports, ...stores }) => {
  let owner: Owner;
  let read: UnreadConversation;
  beforeEach(async () => {
    owner = { tenantId: uuidv7(), userId: uuidv7() };
    for (const message of ["q1", "q2"]) await complete(message);
    read = await readNext(unread, owner);
  });

  const complete = (message: string, sessionId = "session") => {
    const turnId = uuidv7();
    const answer = sampleAnswer({ content: `to ${message}`, metadata: { turn_id: turnId } });
    return stores.complete({ ...owner, sessionId, message, turnId }, answer);
  };
  const written = () => writtenByReadings(database, owner);
  async function expectUnsaved(outcome: ReadingOutcome, result: ReadingResult = sampleResult(read), reading = read): Promise<void> {
    const before = await written();
    expect(await saveReading(database, owner, reading, result)).toBe(outcome);
    expect(await written()).toEqual(before);
  }
  const profile = async () => (await contentsOf(database, owner))["profile"];

  test("writes sections, operations, memories, the cursor and the job that indexes", async () => {
    const result = sampleResult(read, 0);
    expect(await saveReading(database, owner, read, result)).toBe("saved");
    const from = { conversation_id: read.conversationId, trigger_message_id: read.messages[0]?.id };
    const { sections, versions, operations, archived, cursors, jobs } = await written();
    expect(sections).toMatchObject([{ section: "profile", content: "Has a cat.", version: 1, updated_by: "agent" }]);
    expect(versions).toMatchObject([{ section: "profile", version: 1, ...from }]);
    expect(operations).toHaveLength(2);
    expect(operations).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ operation: "core_update", new_value: "Has a cat.", actor: "agent", ...from }),
        expect.objectContaining({ operation: "archival_search", reason: "cats", ...from }),
      ]),
    );
    expect(archived).toMatchObject([{ id: result.archived[0]?.id, content: "Met Grace in Porto.", index_names: [], ...from }]);
    expect(cursors).toMatchObject([{ conversation_id: read.conversationId, read_through_message_id: read.messages[3]?.id }]);
    expect(jobs).toEqual([{ kind: "index_episodes", ...owner, conversationId: read.conversationId }]);
    const [first] = read.messages;
    expect((await coreMemory.load(owner)).sections[0]?.saidAt).toEqual(first?.createdAt);
  });

  test("moves only the cursor when nothing was decided", async () => {
    expect(await saveReading(database, owner, read, decided())).toBe("saved");
    expect(await written()).toEqual({ ...NOTHING_WRITTEN, cursors: [expect.anything()] });
    expect(await unread.next(owner, 40)).toBeNull();
  });

  test("leaves the rest unread when a part was read", async () => {
    const [, answer] = read.messages;
    if (!answer) throw new Error("no answer was read");
    expect(await unread.save(owner, read, answer, sampleResult(read))).toBe("saved");
    expect((await readNext(unread, owner)).messages.map(({ content }) => content)).toEqual(["q2", "to q2"]);
  });

  test("writes several changes of one section one after another; what is expected is said by the first", async () => {
    const changes = ["one", "two", null, "four"].map((content) => sampleChange({ content, expectedVersion: 0 }));
    expect(await saveReading(database, owner, read, decided({ changes }))).toBe("saved");
    const { versions, operations } = await written();
    expect(versions).toMatchObject(changes.map(({ content }, index) => ({ version: index + 1, content })));
    const values = operations.map(({ old_value, new_value }) => [old_value, new_value]);
    expect(values).toEqual([[null, "one"], ["one", "two"], ["two", null], [null, "four"]]); // prettier-ignore
    expect(await profile()).toBe("four");
  });

  test("is lost for the same or an earlier reading, and writes nothing, also when a later one is at the same place", async () => {
    await saveReading(database, owner, read);
    await expectUnsaved("lost");
    await complete("q3");
    expect(await saveReading(database, owner, await readNext(unread, owner))).toBe("saved");
    await expectUnsaved("lost");
    await expectUnsaved("lost", sampleResult(read), { ...read, readThrough: endOf(read) });
  });

  test("is stale when a section has changed, come or gone since, and writes nothing: not even the cursor", async () => {
    await coreMemory.put(owner, { section: "profile", content: "Lives in Lisbon." });
    for (const expectedVersion of [0, 2]) await expectUnsaved("stale", sampleResult(read, expectedVersion));
    await coreMemory.remove(owner, { section: "profile" });
    await expectUnsaved("stale", sampleResult(read, 1));
    expect(await saveReading(database, owner, read, sampleResult(read, 0))).toBe("saved");
  });

  test("is stale when the second of two sections has changed: the first is not written either", async () => {
    await coreMemory.put(owner, { section: "goals", content: "To sail." });
    const changes = [sampleChange({ expectedVersion: 0 }), sampleChange({ section: "goals", expectedVersion: 0 })];
    await expectUnsaved("stale", decided({ changes }));
  });

  test("is stale when an exchange of the reading was erased since, and can be read anew without it", async () => {
    await erases.episode(owner, read.messages[2]?.id ?? "");
    await expectUnsaved("stale");
    expect((await readNext(unread, owner)).messages.map(({ content }) => content)).toEqual(["q1", "to q1"]);
  });

  test.each(["the conversation", "the user"])("is lost when %s was erased since, and brings nothing back", async (what) => {
    await (what === "the user" ? erases.user(owner) : erases.conversation({ ...owner, conversationId: read.conversationId }));
    expect(await saveReading(database, owner, read)).toBe("lost");
    expect(await written()).toEqual(NOTHING_WRITTEN);
  });

  test("is lost when older messages were imported since: they are read from there on", async () => {
    await saveReading(database, owner, read);
    await complete("q3");
    const later = await readNext(unread, owner);
    const messages = [{ role: "user" as const, content: "q0", createdAt: new Date(Date.UTC(2020, 0, 1)), metadata: {} }];
    await imports.import({ ...owner, sessionId: "session", messages, jobKinds: [] });
    await expectUnsaved("lost", sampleResult(later), later);
    expect((await readNext(unread, owner)).messages[0]?.content).toBe("q0");
  });

  test.each([{ tenantId: "other" }, { userId: "other" }])("is lost for whoever does not own the conversation: %p", async (fields) => {
    const stranger = { ...owner, ...fields };
    expect(await saveReading(database, stranger, read)).toBe("lost");
    expect(await writtenByReadings(database, stranger)).toEqual(NOTHING_WRITTEN);
    expect(await written()).toEqual(NOTHING_WRITTEN);
  });

  test("leaves nothing when the last statement fails, and can be repeated", async () => {
    const wrong = { ...sampleResult(read), archived: [sampleMemory(read.messages[0]?.id ?? "", { episodeType: "gossip" })] };
    await expect(saveReading(database, owner, read, wrong)).rejects.toThrow();
    expect(await written()).toEqual(NOTHING_WRITTEN);
    expect(await saveReading(database, owner, read)).toBe("saved");
  });

  test("archives the same of one conversation once: what is new alone is logged, stored and indexed", async () => {
    const result = sampleResult(read);
    await saveReading(database, owner, read, result);
    const before = await written();
    await database.query({ text: "delete from pgboss.job where data->>'userId' = $1", values: [owner.userId] });
    const readAgain = async (message: string, contents: string[]) => {
      await complete(message);
      const later = await readNext(unread, owner);
      const asked = later.messages[0]?.id ?? "";
      const from = { conversationId: later.conversationId, triggerMessageIds: [asked] };
      const archived = contents.map((content) => sampleMemory(asked, { content, importance: 1, episodeType: "decision" }));
      const done = contents.map((newValue) => sampleOperation({ ...from, operation: "archival_insert", newValue }));
      const refused = sampleOperation({ ...done[0], id: uuidv7(), refused: "The archive is switched off." });
      const operations = [...done, refused, sampleOperation(from)];
      expect(await saveReading(database, owner, later, decided({ operations, archived }))).toBe("saved");
      return { asked, archived, operations, after: await written() };
    };
    const isThere = ({ id }: { id: string }) => after.operations.some((operation) => operation.id === id);

    const { asked, operations, after } = await readAgain("q3", ["Met Grace in Porto."]);
    expect(after.archived).toEqual(before.archived.map((archived) => ({ ...archived, repeated_in: [asked] })));
    expect(after.archived).toMatchObject([{ id: result.archived[0]?.id }]);
    expect(operations.map(isThere)).toEqual([false, true, true]);
    expect(after.jobs).toEqual([]);

    const { archived, after: last } = await readAgain("q4", ["Met Grace in Porto.", "Met Ada."]);
    expect(last.archived.map(({ id }) => id)).toEqual([result.archived[0]?.id, archived[1]?.id]);
    const logged = last.operations.filter(({ operation, refused }) => operation === "archival_insert" && refused === null);
    expect(logged).toMatchObject([{ new_value: "Met Ada." }]);
    expect(last.jobs).toEqual([{ kind: "index_episodes", ...owner, conversationId: read.conversationId }]);
  });

  test("archives the same of two conversations once each: an erase of one leaves the other's", async () => {
    await saveReading(database, owner, read);
    const { conversationId } = await complete("q3", "elsewhere");
    await saveReading(database, owner, await readNext(unread, owner));
    const same = { content: "Met Grace in Porto." };
    expect((await written()).archived).toMatchObject([
      { conversation_id: read.conversationId, ...same },
      { conversation_id: conversationId, ...same },
    ]);
    await erases.conversation({ ...owner, conversationId: read.conversationId });
    expect((await written()).archived).toMatchObject([{ conversation_id: conversationId, ...same }]);
  });
});
