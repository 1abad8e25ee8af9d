import { describe, expect, test } from "@jest/globals";
import { MAX } from "uuid";
import fc from "fast-check";
import type { Cursor } from "../../../stores/page.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import { readCandidates, WORD_CANDIDATES, type WordSearchRow } from "../../../stores/search/postgres/word-search.ts";
import { openIndexTable } from "../../../stores/search/postgres/index-table.ts";
import type { SearchDocument, SearchIndex } from "../../../stores/search/contract/search-index.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { interceptStatements } from "../../support/databases/record-statements.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";
import { useOpened } from "../../support/use-opened.ts";
import { ANNA, BEN, definitionOf, idsOf, sampleDocument, sampleId } from "./sample-document.ts";

test("reads words as Postgres writes them: quotes and backslashes are doubled, and a word may look like a place", () => {
  const [candidate] = readCandidates(`${sampleId(1)} 10 'a\\\\b':1A 'o''brien':2A,5A 'x'':1A':3A`);
  const frequencies = [["a\\b", 1], ["o'brien", 2], ["x':1A", 1]]; // prettier-ignore
  expect(candidate).toEqual({ id: sampleId(1), length: 10, frequencies });
  expect(readCandidates(`${sampleId(1)} 10 `)[0]?.frequencies).toEqual([]);
});

/** What the table of words holds, and what it would hold if the documents were counted anew. */
async function countsOf(database: Database, name: string): Promise<{ kept: unknown[]; counted: unknown[] }> {
  const kept = await database.query({ text: `select key, documents::int from search."${name}_words" order by key` });
  const text = `
select search.word_key(owner, word) as key, sum(number)::int as documents from search."${name}", unnest(array[owner_key, '']) as owner, lateral (
  select distinct word, 1 as number from unnest(string_to_array(lexical_text, ' ')) as word where word <> ''
  union all values ('', 1), (' ', coalesce(cardinality(string_to_array(lexical_text, ' ')), 0))
) as words group by 1 having sum(number) <> 0 order by 1`;
  return { kept, counted: await database.query({ text }) };
}

const WORDS = "red green blue tea film 电影 导演 tk4471 5月8日".split(" ");
const change = fc.record({
  what: fc.constantFrom("write", "remove", "removeGroup" as const),
  numbers: fc.array(fc.nat(6), { minLength: 1, maxLength: 4 }),
  owner: fc.constantFrom(ANNA, BEN),
  words: fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }),
});

describeOnBothDatabases("words of a plain table", (open) => {
  const database = useOpened(open);
  const openIndex = async (name: string, where: Database = database): Promise<SearchIndex> =>
    (await openPostgresSearchStore(where)).openIndex(definitionOf(name));

  test("lists what has all the words, the newest first, page by page, and nothing of another owner", async () => {
    const index = await openIndex("listed");
    const at = (number: number): Date => new Date(Date.UTC(2024, 0, 1 + Math.floor(number / 2)));
    const words = (number: number): string => `common ${number % 3 === 0 ? "third" : "other"} 电影`;
    const write = (from: number, to: number) =>
      index.upsert(
        Array.from({ length: to - from }, (_, place) => from + place).map((number) =>
          sampleDocument(number, { ownerKey: ANNA, createdAt: at(number), lexicalText: words(number) }),
        ),
      );
    await write(0, 12);
    await index.upsert([sampleDocument(90_000, { ownerKey: BEN, lexicalText: words(0) })]);
    const end: Cursor = { createdAt: new Date("9999-01-01T00:00:00Z"), id: MAX };
    const list = async (sought: string[], before = end, limit = 20): Promise<string[]> =>
      idsOf(await index.listByWords(ANNA, sought, before, limit));
    const ids = (...numbers: number[]): string[] => numbers.map(sampleId);
    expect(await list(["third", "电影"])).toEqual(ids(9, 6, 3, 0));
    expect(await list(["third", "电影"], end, 2)).toEqual(ids(9, 6));
    expect(await list(["third", "电影"], { createdAt: at(6), id: sampleId(6) })).toEqual(ids(3, 0));
    expect(await list(["third", "missing"])).toEqual([]);
    expect(await list(["third", "other"])).toEqual([]);
    expect(await list(["common"])).toEqual(ids(11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    await write(12, 2_100); // common beyond the number up to which all are looked up
    expect(await list(["common"], end, 3)).toEqual(ids(2_099, 2_098, 2_097));
    expect(await list(["common"], { createdAt: at(10), id: sampleId(10) }, 3)).toEqual(ids(9, 8, 7));
    expect(await list(["common", "third"], end, 2)).toEqual(ids(2_097, 2_094));
  });

  test("property: after any writes and removals the words are counted as if counted anew", async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 6 }), async (changes) => {
        const name = `counted_${runs++}`;
        const index = await openIndex(name);
        for (const { what, numbers, owner, words } of changes) {
          const ids = numbers.map(sampleId);
          if (what === "remove") await index.remove(owner, ids);
          else if (what === "removeGroup") await index.removeGroups(owner, [sampleId(900)]);
          else await index.upsert(numbers.map((number) => sampleDocument(number, { ownerKey: owner, lexicalText: words.join(" ") })));
        }
        const { kept, counted } = await countsOf(database, name);
        expect(kept).toEqual(counted);
      }),
      { numRuns: 25 },
    );
  });

  test("writers of one owner at the same time count each document once", async () => {
    const index = await openIndex("together");
    const documents = Array.from({ length: 40 }, (_, number) =>
      sampleDocument(number, { ownerKey: ANNA, lexicalText: WORDS.toSpliced(number % WORDS.length, 1).join(" ") }),
    );
    await Promise.all(documents.map((document) => index.upsert([document])));
    const { kept, counted } = await countsOf(database, "together");
    expect(kept).toEqual(counted);
  });

  test("an index from before the table of words is counted when it is opened, and again ranks all its documents", async () => {
    const index = await openIndex("older");
    await index.upsert([1, 2, 3].map((number) => sampleDocument(number, { ownerKey: ANNA })));
    const before = await index.searchWords({ ownerKey: ANNA }, "sample w2", 5);
    const text = `drop table search.older_words; drop function search.older_count cascade; drop index search.older_by_word`;
    await database.query({ text });
    const opened = await openIndex("older");
    expect(await opened.searchWords({ ownerKey: ANNA }, "sample w2", 5)).toEqual(before);
    const { kept, counted } = await countsOf(database, "older");
    expect(kept).toEqual(counted);
  });

  test("an index that was made without pgvector stays plain where pgvector is", async () => {
    await openIndexTable(database, definitionOf("plain"), "plain");
    const index = await openIndex("plain");
    expect(await (await openPostgresSearchStore(database)).levelOf("plain")).toBe("plain");
    await index.upsert([sampleDocument(1, { ownerKey: ANNA })]);
    expect(await index.searchVectors({ ownerKey: ANNA }, sampleDocument(1, { ownerKey: ANNA }).embedding, 5)).toHaveLength(1);
  });

  describe("among thousands of one owner", () => {
    const COUNT = 3_000;
    const rows: WordSearchRow[] = [];
    const listening: Database = {} as Database;
    let index: SearchIndex;
    const below = makeSeededRandom(11);
    /** Words of which the first are in nearly every document, the last in a few. */
    const pick = (): string => `w${Math.floor((below(2 ** 20) / 2 ** 20) ** 3 * 2_000)}`;
    const text = (length: number): string => Array.from({ length }, pick).join(" ");

    async function search(query: string, limit: number): Promise<string[]> {
      rows.length = 0;
      return (await index.searchWords({ ownerKey: ANNA }, query, limit)).map(({ id }) => id);
    }
    const candidates = (): number => readCandidates(rows[0]?.candidates ?? "").length;

    test("a search ranks a few hundred, and finds at the top what ranking all finds", async () => {
      Object.assign(
        listening,
        interceptStatements(database, async (_, run) => {
          const found = await run();
          rows.push(...(found as WordSearchRow[]));
          return found;
        }),
      );
      index = await openIndex("thousands", listening);
      const documents = Array.from({ length: COUNT }, (_, number): SearchDocument => {
        return sampleDocument(number, { ownerKey: ANNA, lexicalText: text(20 + below(40)) });
      });
      for (let start = 0; start < COUNT; start += 500) await index.upsert(documents.slice(start, start + 500));
      await index.flush();
      let same = 0;
      const questions = Array.from({ length: 30 }, () => text(6));
      for (const question of questions) {
        const some = await search(question, 10);
        expect(candidates()).toBeLessThanOrEqual(2 * WORD_CANDIDATES);
        const all = await search(question, COUNT);
        same += some.filter((id) => all.slice(0, 10).includes(id)).length / 10;
      }
      expect(same / questions.length).toBeGreaterThan(0.9);
    });

    test("common words alone still find: together first, then the rarest of them", async () => {
      const found = await search("w0 w1 w2", 10);
      expect(found).toHaveLength(10);
      expect(candidates()).toBeLessThanOrEqual(WORD_CANDIDATES);
      expect(await search("w0", 10)).toHaveLength(10);
    });

    test("finds all of one group, however common the words", async () => {
      const groupId = sampleId(901);
      const numbers = [COUNT, COUNT + 1, COUNT + 2];
      await index.upsert(numbers.map((number) => sampleDocument(number, { ownerKey: ANNA, groupId, lexicalText: `w${number - COUNT}` })));
      const found = await index.searchWords({ ownerKey: ANNA, groupId }, "w0 w1 w2", 10);
      expect(found.map(({ id }) => id).toSorted()).toEqual(numbers.map(sampleId).toSorted());
    });
  });
});
