import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeErase } from "../../../memory/erase/erase.ts";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Owner } from "../../../turn/owner.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import type { SearchStore } from "../../../stores/search/contract/search-index.ts";
import { ownerKey } from "../../../stores/index-keys.ts";
import { useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { bringJobs, clearJobs } from "../../support/samples/sample-jobs.ts";
import { rememberConversation, type RememberedConversation } from "../../support/samples/user-with-memory.ts";

/** A Milvus of one index that counts as it is told; what it was asked for is in `asked`. */
function countingMilvus(countOf: (key: string | undefined) => number): SearchStore & { asked: string[] } {
  const asked: string[] = [];
  const index = { count: async (key?: string) => countOf(key) };
  return {
    asked,
    kind: "milvus",
    description: "Milvus at nowhere",
    openIndex: async ({ name }: { name: string }) => {
      asked.push(name);
      return index;
    },
  } as unknown as SearchStore & { asked: string[] };
}

describe("findResidualData", () => {
  const memory = useTestEpisodicMemory();
  let owner: Owner;
  let conversation: RememberedConversation;
  beforeEach(async () => {
    await clearJobs(memory.database);
    owner = { tenantId: `tenant ${uuidv7()}`, userId: `user "${uuidv7()}" \\ 用户` };
    conversation = await rememberConversation(memory.database, owner, "something");
    await memory.indexAll(conversation);
  });

  /** How much is left, by table or collection. */
  async function leftovers(of = owner, store: SearchStore | null = null): Promise<Record<string, number>> {
    return Object.fromEntries((await findResidualData(memory.database, store, of)).map(({ place, count }) => [place, count]));
  }
  const erase = () => makeErase(makeEraseStore(memory.database), memory.index).user(owner);
  /** And with it the jobs that clear the index. */
  const eraseAll = () => erase().finally(() => clearJobs(memory.database));
  const query = (text: string, values: string[] = []) => memory.database.query({ text, values });

  test("finds something in every kind of place before an erase, and says how much", async () => {
    expect(await leftovers()).toMatchObject({
      "public.conversations": 1,
      "public.messages": 4,
      "public.conversation_summaries": 1,
      "public.core_memory_sections": 1,
      "public.core_memory_versions": 1,
      "public.core_memory_lines": 1,
      "public.memory_operations": 3,
      "public.memory_cursors": 1,
      "public.archived_memories": 1,
      "public.episode_cursors": 1,
      [`search.${await memory.index.name()}`]: 3,
      "pgboss.job": 3,
    });
  });

  test("finds nothing after an erase: its own jobs, of a hash and ids only, are no leftover", async () => {
    expect(await erase()).toMatchObject({ episodes: 3, isPending: false });
    expect(await query("select 1 from pgboss.job where data->>'kind' = 'erase_episodes'")).toHaveLength(2);
    expect(await leftovers()).toEqual({});
  });

  test("finds nothing of a user who was never there, nor of one of a similar name, or of the same in another tenant", async () => {
    const similar = [`${owner.userId} `, ` ${owner.userId}`, owner.userId.slice(0, -1), owner.userId.toUpperCase(), "%"];
    for (const userId of [uuidv7(), ...similar]) expect(await leftovers({ ...owner, userId })).toEqual({});
    for (const tenantId of ["tenant", `${owner.tenantId} `]) expect(await leftovers({ ...owner, tenantId })).toEqual({});
  });

  test.each("memory active exclusive summarise user assistant profile agent current episodes postgres kind".split(" "))(
    "finds nothing of a user named %s, who was never there, because of words that rows of others or the list of indexes have",
    async (userId) => expect(await leftovers({ tenantId: "tenant", userId })).toEqual({}),
  );

  test("takes the tokens that a tenant used for nothing of a user of the same name", async () => {
    await query("insert into token_usage (tenant_id, day, tokens) values ('acme', '2026-01-01', 7)");
    expect(await leftovers({ tenantId: "acme", userId: "acme" })).toEqual({});
  });

  test.each(["waiting", "retrying", "running", "dead"] as const)(
    "finds a %s job of the user, of a conversation that is gone",
    async (state) => {
      await eraseAll();
      await bringJobs(makeJobQueue(memory.database), state, { kind: "remember", ...owner });
      expect((await leftovers())["pgboss.job"]).toBe(state === "dead" ? 2 : 1); // a dead one is there twice
      await erase();
      expect(await leftovers()).toEqual({});
    },
  );

  test("finds documents that a dead process has left in the index", async () => {
    await eraseAll();
    const index = await memory.opened();
    const embedding = Array.from({ length: index.dimensions }, (_, place) => (place === 0 ? 1 : 0));
    const attributes = { conversation_id: uuidv7(), answer_id: uuidv7(), episode_type: "context", importance: 0.5 };
    const document = { id: uuidv7(), groupId: uuidv7(), previousId: null, createdAt: new Date(), lexicalText: "a", embedding, attributes };
    await index.upsert([{ ...document, ownerKey: ownerKey(owner.tenantId, owner.userId) }]);
    expect(await leftovers()).toEqual({ [`search.${await memory.index.name()}`]: 1 });
    expect(await leftovers({ ...owner, userId: "other" })).toEqual({});
  });

  test("asks Milvus about each of its indexes, for this owner alone", async () => {
    await eraseAll();
    const key = ownerKey(owner.tenantId, owner.userId);
    const milvus = countingMilvus((asked) => (asked === key ? 5 : 0));
    expect(await leftovers(owner, milvus)).toEqual({}); // the index of this database is no Milvus one
    const add = `insert into search_indexes (name, kind, state, store, embedder, dimensions, created_at)
      values ('episodes_in_milvus', 'episodes', 'building', 'milvus', 'e', 8, now())`;
    await query(add);
    expect(await leftovers(owner, milvus)).toEqual({ "Milvus at nowhere: episodes_in_milvus": 5 });
    expect(milvus.asked).toEqual(["episodes_in_milvus"]);
    expect(await leftovers({ ...owner, userId: "other" }, milvus)).toEqual({});
    await query("delete from search_indexes where name = 'episodes_in_milvus'");
  });
});
