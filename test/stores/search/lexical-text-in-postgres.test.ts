import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import { lexicalText } from "../../../text/lexical-text.ts";

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

const PIECES = "1e5 a1 . - @ / 5月 é 0x1f e 7 com _ + % &amp; <b> http:// 二 𠮷 한글 слово Straße カレー 👍".split(" ");
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
