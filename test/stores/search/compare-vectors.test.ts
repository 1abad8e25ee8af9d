import { expect, test } from "@jest/globals";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import { openTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { ANNA, definitionOf, DIMENSIONS, direction, sampleDocument, sampleId } from "./sample-document.ts";

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
