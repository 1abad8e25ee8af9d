import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../../server/settings/config.ts";
import { openEpisodes } from "../../../../server/parts/open-memory.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { chunkIndexName } from "../../../../stores/search/open-episode-index.ts";
import { openPostgresSearchStore } from "../../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchStore } from "../../../../stores/search/contract/search-index.ts";
import { openTestEmbedded } from "../../../support/databases/databases.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const config = parseConfig({ EMBEDDING_MODEL: "built-in" });
const RECORD = `
insert into search_indexes (name, kind, state, store, embedder, dimensions, created_at, left_at)
values ($1, 'episodes', $2, $3, 'e', 8, now(), $4)`;

describe("a service that starts", () => {
  let database: Database;
  let store: SearchStore;
  const errors: unknown[] = [];
  beforeEach(async () => {
    errors.splice(0);
    database = await openTestEmbedded();
    store = await openPostgresSearchStore(database);
  });
  afterEach(() => database.close());

  const open = () => openEpisodes(config, database, (error) => errors.push(error));

  /** An index of two tables with its record; `left`: since how many milliseconds it serves no more. */
  async function addIndex(name: string, left: number | null, kind = "postgres"): Promise<void> {
    const [state, at] = left === null ? ["building", null] : [`leaving ${name}`, new Date(Date.now() - left)];
    await database.query({ text: RECORD, values: [name, state, kind, at] });
    if (kind !== "postgres") return;
    for (const each of [name, chunkIndexName(name)]) await store.openIndex({ name: each, dimensions: 8, attributes: {} });
  }

  async function recorded(): Promise<string[]> {
    const rows = await database.query<{ name: string }>({ text: "select name from search_indexes where state <> 'current' order by name" });
    return rows.map(({ name }) => name);
  }

  test("drops in the background what rebuilds have left, when nobody goes on with it any more, and nothing else", async () => {
    await addIndex("episodes_long_ago", 3_600_000);
    await addIndex("episodes_building", null);
    await addIndex("episodes_in_milvus", 3_600_000, "milvus");
    await store.openIndex({ name: "episodes_of_nobody", dimensions: 8, attributes: {} });
    await addIndex("episodes_a_moment_ago", 0);
    const episodes = await open();
    await waitUntil("the older is dropped", async () => !(await recorded()).includes("episodes_long_ago"));
    expect(await store.listIndexes()).toContain("episodes_a_moment_ago");
    await waitUntil("the newer is dropped", async () => !(await recorded()).includes("episodes_a_moment_ago"));
    expect(await recorded()).toEqual(["episodes_building", "episodes_in_milvus"]);
    expect(await store.listIndexes()).toEqual(["chunks_building", "episodes_building", "episodes_of_nobody"]);
    await episodes.close();
    expect(errors).toEqual([]);
  });

  test("and stops again at once leaves what is still in use to the next one, without complaint", async () => {
    await addIndex("episodes_a_moment_ago", 0);
    await (await open()).close();
    expect(await store.listIndexes()).toEqual(["chunks_a_moment_ago", "episodes_a_moment_ago"]);
    expect(errors).toEqual([]);
  });

  test("with another embedder than an index nothing was written to takes another one, and drops that", async () => {
    const first = await open();
    const unused = await first.memory.index.name();
    await first.memory.index.open(unused);
    await first.close();
    await database.query({ text: "update search_indexes set embedder = 'another'" });
    const second = await open();
    expect(await second.memory.index.name()).not.toBe(unused);
    await waitUntil("the unused one is dropped", async () => (await recorded()).length === 0);
    expect(await store.listIndexes()).toEqual([]);
    await second.close();
    expect(errors).toEqual([]);
  });
});
