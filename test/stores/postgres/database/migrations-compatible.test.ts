import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Database, Queryable } from "../../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { createEmptyDatabase } from "../../../support/databases/empty-database.ts";
import { findIncompatible, readSchema } from "./schema-facts.ts";

const FOLDER = new URL("../../../../stores/postgres/migrations/", import.meta.url);

/**
 * What migrations do that the version before might notice, with why it does not. An entry is made after reading what that version does with
 * the table; see docs/decisions/0021-a-migration-is-compatible-by-one-version.md.
 */
const REVIEWED: Readonly<Record<string, readonly { finding: RegExp; why: string }[]>> = {
  "0003_episodes.sql": [
    { finding: /^constraint conversation_summaries\.\S+ was CHECK .*>= 1.* is CHECK .*>= 0/, why: "looser: it takes all it took before" },
    {
      finding: /^index messages\.messages_by_external_id is new/,
      why: "only over messages with metadata that nothing wrote before; made before the first release",
    },
  ],
  "0009_left_indexes.sql": [
    {
      finding: /^constraint search_indexes\.search_indexes_state_check was CHECK .* is CHECK .*leaving/,
      why: "looser: it takes all it took before",
    },
  ],
  "0012_closed_turns.sql": [
    {
      finding: /^column turns\.question_id was uuid not null, is uuid$/,
      why: "rows without a question belong to no conversation, and the version before joins that of every turn it reads",
    },
  ],
  "0013_lines.sql": [
    {
      finding: /^trigger core_memory_versions\.core_memory_version_changed is new/,
      why: "it deletes rows of a table that the version before does not read, and fails for nothing",
    },
  ],
};

let place: Awaited<ReturnType<typeof createEmptyDatabase>>;
let database: Database;
beforeAll(async () => {
  place = await createEmptyDatabase();
  database = await openPostgres(place.url);
});
afterAll(async () => {
  await database.close();
  await place.drop();
});

class TakenBack extends Error {}

/** What these statements do to the schema as it is, which is left as it was. */
async function tryOut(text: string): Promise<string[]> {
  let found: string[] = [];
  async function compare(transaction: Queryable): Promise<never> {
    const before = await readSchema(transaction);
    await transaction.query({ text });
    found = findIncompatible(before, await readSchema(transaction));
    throw new TakenBack();
  }
  await expect(database.transaction(compare)).rejects.toThrow(TakenBack);
  return found;
}

test("every migration leaves what the version before it uses, or is an exception that somebody has looked at", async () => {
  for (const name of (await readdir(FOLDER)).sort()) {
    const before = await readSchema(database);
    await database.query({ text: await readFile(new URL(name, FOLDER), "utf8") });
    const exceptions = REVIEWED[name] ?? [];
    const found = findIncompatible(before, await readSchema(database));
    expect({ name, found: found.filter((finding) => !exceptions.some((exception) => exception.finding.test(finding))) }).toEqual({
      name,
      found: [],
    });
    // An exception that is needed no more is taken out.
    expect(exceptions.filter((exception) => !found.some((finding) => exception.finding.test(finding)))).toEqual([]);
  }
});

describe("a migration behind the last one", () => {
  test.each([
    ["drops a table", "drop table token_usage", "table token_usage is gone"],
    ["renames a table", "alter table turns rename to attempts", "table turns is gone"],
    ["drops a column", "alter table messages drop column token_count", "column messages.token_count is gone"],
    ["renames a column", "alter table messages rename column role to speaker", "column messages.role is gone"],
    [
      "changes a type",
      "alter table messages alter column token_count type bigint",
      "column messages.token_count was integer not null, is bigint not null",
    ],
    [
      "asks for what may be missing",
      "alter table turns alter column answer_id set not null",
      "column turns.answer_id was uuid, is uuid not null",
    ],
    [
      "drops a default",
      "alter table turns alter column cancel_requested drop default",
      "column turns.cancel_requested was boolean not null default false, is boolean not null",
    ],
    [
      "adds a column that must be given",
      "alter table messages add column author text not null",
      "column messages.author is new: text not null",
    ],
    [
      "narrows a check",
      "alter table messages add constraint short check (length(content) < 10)",
      "constraint messages.short is new: CHECK",
    ],
    ["allows a value once only", "create unique index once on messages (content)", "index messages.once is new: CREATE UNIQUE INDEX"],
    ["makes an index, which holds up writers", "create index by_role on messages (role)", "index messages.by_role is new: CREATE INDEX"],
    ["drops an index", "drop index messages_in_order", "index messages.messages_in_order is gone"],
    [
      "drops a reference, and what it erases",
      "alter table turns drop constraint turns_question_id_fkey",
      "constraint turns.turns_question_id_fkey is gone",
    ],
    [
      "puts a trigger in the way",
      "create trigger t before update on turns for each row execute function suppress_redundant_updates_trigger()",
      "trigger turns.t is new",
    ],
  ])("that %s is found", async (_what, text, expected) => {
    expect(await tryOut(text)).toEqual(expect.arrayContaining([expect.stringContaining(expected)]));
  });

  test.each([
    [
      "a table with its indexes",
      "create table notes (id uuid primary key, text text not null); create index notes_by_text on notes (text)",
    ],
    ["a column that may be null", "alter table messages add column author text"],
    ["a column with a constant default", "alter table messages add column likes integer not null default 0"],
    ["a looser check", "alter table messages drop constraint messages_role_check"],
    ["rows", "insert into token_usage values ('t', '2026-01-01', 1)"],
  ])("that adds %s is compatible", async (_what, text) => {
    expect(await tryOut(text)).toEqual([]);
  });
});
