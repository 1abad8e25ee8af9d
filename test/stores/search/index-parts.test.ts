import { describe, expect, test, afterAll, beforeAll } from "@jest/globals";
import { indexOfPart, makePartedIndex, PARTS, partNames } from "../../../stores/search/milvus/parted-index.ts";
import { ownerKey } from "../../../stores/index-keys.ts";
import type { VectorIndex } from "../../../stores/search/contract/search-index.ts";
import { direction, sampleDocument, sampleId, ANNA, definitionOf, DIMENSIONS } from "./sample-document.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import { openTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import { lexicalText } from "../../../text/lexical-text.ts";

const OWNERS = Array.from({ length: 200 }, (_, number) => ownerKey("acme", `user-${number}`));
/** A part that keeps nothing but who asked for what. */
function recordingPart(asked: string[]): VectorIndex {
  const hear = async <Result>(what: string, result: Result): Promise<Result> => (asked.push(what), result);
  return {
    upsert: (documents) => hear(`upsert ${documents.map((document) => document.ownerKey).join(" ")}`, undefined),
    nearest: (filter) => hear(`nearest ${filter.ownerKey}`, []),
    removeGroups: (key) => hear(`groups ${key}`, 1),
    remove: (key) => hear(`remove ${key}`, 1),
    count: (key) => hear(`count ${key ?? "all"}`, 2),
    flush: () => hear("flush", undefined),
  };
}
function open(): { index: VectorIndex; asked: string[][] } {
  const asked = Array.from({ length: PARTS }, (): string[] => []);
  return { index: makePartedIndex(asked.map(recordingPart)), asked };
}
describe("an index in parts", () => {
  test("its collections are named after it, and it after them", () => {
    expect(new Set(partNames("episodes")).size).toBe(PARTS);
    expect(partNames("episodes").map(indexOfPart)).toEqual(Array(PARTS).fill("episodes"));
    expect(partNames("a_part1").map(indexOfPart)).toEqual(Array(PARTS).fill("a_part1"));
    expect(indexOfPart("episodes")).toBe("episodes");
  });

  test("asks for an owner one part, always the same, whatever it is asked", async () => {
    for (const owner of OWNERS.slice(0, 20)) {
      const { index, asked } = open();
      await index.upsert([sampleDocument(1, { ownerKey: owner })]);
      await index.nearest({ ownerKey: owner }, direction(1), 5);
      expect(await index.removeGroups(owner, [sampleId(1)])).toBe(1);
      expect(await index.remove(owner, [sampleId(1)])).toBe(1);
      expect(await index.count(owner)).toBe(2);
      const what = ["upsert", "nearest", "groups", "remove", "count"];
      expect(asked.filter((calls) => calls.length > 0)).toEqual([what.map((call) => `${call} ${owner}`)]);
    }
  });

  test("spreads owners over all parts, and a batch of several to the part of each", async () => {
    const { index, asked } = open();
    await index.upsert(OWNERS.map((owner, number) => sampleDocument(number, { ownerKey: owner })));
    const shares = asked.map((calls) => calls.flatMap((call) => call.split(" ").slice(1)));
    expect(shares.flat().sort()).toEqual([...OWNERS].sort());
    for (const share of shares) expect(share.length).toBeGreaterThan(OWNERS.length / PARTS / 4);
    expect(asked.map((calls) => calls.length)).toEqual(Array(PARTS).fill(1));
  });

  test("flushes what was written since the last time, and nothing else", async () => {
    const { index, asked } = open();
    const flushes = (): number => asked.flat().filter((call) => call === "flush").length;
    await index.flush();
    expect(flushes()).toBe(0);
    await index.upsert([1, 2].map((number) => sampleDocument(number, { ownerKey: OWNERS[0] ?? "" })));
    await index.flush();
    await index.flush();
    expect(flushes()).toBe(1);
  });
});

describe("vectors compared in Postgres", () => {
  const database = useOpened(openTestPostgres);
  test("more vectors than one statement reads are all compared once, also when they are of one moment", async () => {
    const index = await (await openPostgresSearchStore(database)).openIndex(definitionOf("many"));
    const turned = (angle: number): number[] =>
      direction(0).map((value, place) => value * Math.cos(angle) + (direction(1)[place] ?? 0) * Math.sin(angle));
    const createdAt = new Date("2024-05-08T12:00:00.123Z");
    const documents = Array.from({ length: 4_321 }, (_, number) =>
      sampleDocument(number, { ownerKey: ANNA, createdAt, embedding: turned((number * Math.PI) / 4_321) }),
    );
    for (let start = 0; start < documents.length; start += 1_000) await index.upsert(documents.slice(start, start + 1_000));
    const hits = await index.searchVectors({ ownerKey: ANNA }, direction(0), 5_000);
    expect(hits.map(({ id }) => id)).toEqual(documents.map((_, number) => sampleId(number)));
    expect((await index.searchVectors({ ownerKey: ANNA }, turned(3), 3)).map(({ score }) => score)).toEqual(
      Array.from({ length: 3 }, () => expect.closeTo(1, 4)),
    );
  });
  test("a vector of another size cannot be stored", async () => {
    await (await openPostgresSearchStore(database)).openIndex({ name: "sized", dimensions: DIMENSIONS, attributes: {} });
    const text =
      "insert into search.sized (id, owner_key, group_id, created_at, lexical_text, embedding) values ($1, 'x', $1, now(), '', '\\x00')";
    await expect(database.query({ text, values: [sampleId(1)] })).rejects.toThrow(/check constraint/);
  });
});

describe("words prepared for Postgres", () => {
  let database: PGlite;
  beforeAll(async () => {
    database = await PGlite.create("memory://");
  });
  afterAll(() => database.close());
  /** The words that Postgres sees: Milvus splits at white space only, so both rank alike when these are the same. */
  async function wordsOfPostgres(prepared: string): Promise<string[]> {
    const { rows } = await database.query<{ lexeme: string }>("select lexeme from unnest(to_tsvector('simple', $1))", [prepared]);
    return rows.map(({ lexeme }) => lexeme).toSorted();
  }
  const PIECES =
    "1e5 a1 . - @ / 5月 é 0x1f e 7 com _ + % &amp; <b> http:// 二 𠮷 한글 слово Straße カレー 👍 ภาษาไทย น้ำ ខ្មែរ မြန်မာ ລາວ हिन्दी कि ா ু".split(
      " ",
    );
  const odd = fc.array(fc.constantFrom(" ", ...PIECES), { maxLength: 12 }).map((pieces) => pieces.join(""));
  test("property: Postgres splits the prepared words where Milvus does, at spaces only", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(odd, fc.string({ unit: "grapheme-ascii", maxLength: 60 })), async (text) => {
        const prepared = lexicalText(text);
        expect(await wordsOfPostgres(prepared)).toEqual([...new Set(prepared.split(" "))].filter(Boolean).toSorted());
      }),
      { numRuns: 300 },
    );
  });
});
