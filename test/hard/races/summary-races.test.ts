import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Stores } from "../../support/databases/describe-stores.ts";
import { useRacingDatabases } from "./racing-databases.ts";
import { beginFreely, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { placeOf, sampleSummary, storeConversation, summariseThrough } from "../../support/databases/stored-conversation.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";

describe("the summary store of two processes on real Postgres", () => {
  const databases = useRacingDatabases();
  let one: Stores;
  let other: Stores;
  let conversation: OwnedConversation & { sessionId: string };
  beforeEach(async () => {
    ({ one, other } = databases);
    conversation = await storeConversation(one.database, { count: 10 });
  });

  const addMessage = (stores: Stores): Promise<unknown[]> => {
    const text = `
      with held as (update conversations set message_count = message_count + 1 where id = $1 returning id)
      insert into messages (id, conversation_id, role, content, completed, token_count, created_at)
      select gen_random_uuid(), id, 'user', 'in the meantime', true, 3, now() from held`;
    return stores.database.query({ text, values: [conversation.conversationId] });
  };
  const deleteConversation = (stores: Stores): Promise<unknown> =>
    stores.database.query({ text: "delete from conversations where id = $1", values: [conversation.conversationId] });
  const countIn = (stores: Stores) =>
    stores.database.transaction((transaction) => stores.summaries.lockAndCount(transaction, conversation, 1_000));

  test.each([
    ["the message that was committed", addMessage, { hasSummary: false, uncovered: 11, isSaturated: false }],
    ["that the conversation was deleted", deleteConversation, null],
  ])("sees in lockAndCount %s while it waited for the lock", async (_what, change, counted) => {
    expect((await databases.meet(change, () => countIn(other)))[1]).toEqual(counted);
  });

  test("sees in lockAndCount the summary that was committed while it waited for the lock", async () => {
    const place = await placeOf(one.database, conversation, 4);
    const addAndSave = async (inside: Stores): Promise<boolean> => {
      await addMessage(inside);
      return inside.summaries.save(conversation, sampleSummary(place, { addedMessageCount: 4 }));
    };
    expect(await databases.meet(addAndSave, () => countIn(other))).toEqual([true, { hasSummary: true, uncovered: 7, isSaturated: false }]);
  });

  test("lets no turn end between lockAndCount and the end of its transaction", async () => {
    const turns = other.turns;
    const turn = await beginFreely(turns, sampleTurn(conversation));
    const met = await databases.meet(countIn, () => turns.finish(turn, sampleAnswer()));
    expect(met).toEqual([{ hasSummary: false, uncovered: 11, isSaturated: false }, "stored"]);
    expect(await countIn(one)).toEqual({ hasSummary: false, uncovered: 12, isSaturated: false });
  });

  test.each([0, 1])("writes only the first of two saves of version %i + 1, not the one that waited", async (readVersion) => {
    if (readVersion === 1) await summariseThrough(one.database, conversation, 2);
    const [earlier, later] = await Promise.all([4, 6].map((number) => placeOf(one.database, conversation, number)));
    if (!earlier || !later) throw new Error("two places are needed");
    const save = (stores: Stores, place: typeof earlier, addedMessageCount: number) =>
      stores.summaries.save(conversation, sampleSummary(place, { readVersion, addedMessageCount }));
    const saves = await databases.meet(
      (inside) => save(inside, earlier, 4),
      () => save(other, later, 6),
    );
    expect(saves).toEqual([true, false]);
    const expected = { version: readVersion + 1, coveredThrough: earlier, coveredMessageCount: readVersion === 0 ? 4 : 6 };
    expect(await one.summaries.find(conversation)).toMatchObject(expected);
  });

  test.each([0, 1])("writes nothing in a save of version %i + 1 that waited for a delete of the conversation", async (readVersion) => {
    if (readVersion === 1) await summariseThrough(one.database, conversation, 2);
    const coveredThrough = await placeOf(one.database, conversation, 4);
    const save = () => other.summaries.save(conversation, sampleSummary(coveredThrough, { readVersion }));
    expect((await databases.meet(deleteConversation, save))[1]).toBe(false);
    const text = "select 1 from conversation_summaries where conversation_id = $1";
    expect(await one.database.query({ text, values: [conversation.conversationId] })).toEqual([]);
  });
});
