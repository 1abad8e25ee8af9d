import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeErase } from "../../../memory/erase/erase.ts";
import type { Owner } from "../../../turn/owner.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { storeExchange, type StoredExchange } from "../../support/samples/user-with-memory.ts";

describe("erasing one exchange out of the index", () => {
  const memory = useTestEpisodicMemory();
  let owner: Owner;
  let word: string;
  let exchange: StoredExchange;
  beforeEach(async () => {
    owner = { tenantId: "tenant", userId: uuidv7() };
    word = `canary${uuidv7().replaceAll("-", "")}`;
    exchange = await storeExchange(memory.database, owner, "session", word);
    await memory.indexAll({ ...owner, conversationId: exchange.conversationId });
  });

  const erase = () => makeErase(makeEraseStore(memory.database), memory.index).episode(owner, exchange.messageId);

  test("removes its episode and all its words", async () => {
    expect(Object.keys(await tablesHolding(memory.database, word))).toContain(`search.${await memory.index.name()}`);
    expect(await erase()).toMatchObject({ messages: 2, episodes: 1, isPending: false });
    expect(await tablesHolding(memory.database, word)).toEqual({});
  });

  test("stays pending in a process without an index, until a process with one clears it", async () => {
    const withoutIndex = makeErase(makeEraseStore(memory.database), null);
    expect(await withoutIndex.episode(owner, exchange.messageId)).toMatchObject({ messages: 2, episodes: 0, isPending: true });
    expect(Object.keys(await tablesHolding(memory.database, word))).toEqual([`search.${await memory.index.name()}`]);
    expect(await withoutIndex.user(owner)).toMatchObject({ episodes: 0, isPending: true });
    const text = "delete from search_indexes returning *";
    const [record] = await memory.database.query({ text });
    expect(await withoutIndex.user(owner)).toMatchObject({ episodes: 0, isPending: false });
    const back = "insert into search_indexes select * from jsonb_populate_record(null::search_indexes, $1)";
    await memory.database.query({ text: back, values: [JSON.stringify(record)] });
    expect(await withoutIndex.user(owner)).toMatchObject({ episodes: 0, isPending: true });
  });

  // Episodes go by what is next to each other, exchanges by their turn: the answer is in the episode of the message that was imported.
  test("takes its answer out of the episode of a message that was imported in between", async () => {
    const text = "select created_at from messages where id = $1";
    const [asked] = await memory.database.query<{ created_at: Date }>({ text, values: [exchange.messageId] });
    const messages = [{ role: "user" as const, content: "imported", createdAt: asked?.created_at ?? null, metadata: {} }];
    await makeImportStore(memory.database).import({ ...owner, sessionId: "session", messages, jobKinds: [] });
    await memory.indexAll({ ...owner, conversationId: exchange.conversationId });
    await erase();
    expect(await tablesHolding(memory.database, word)).toEqual({});
  });
});
