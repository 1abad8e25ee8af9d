import { readdir } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createEmptyDatabase } from "../../support/databases/empty-database.ts";
import { startMilvusServer, whyNoMilvus, type MilvusServer } from "../../servers/milvus-server.ts";
import { rollOut, type RollOut } from "./roll-out.ts";
import { killServiceProcesses } from "../../servers/service-process.ts";
import { checkOutVersion, findPreviousVersion, makeNextVersion, type VersionTree } from "./version-tree.ts";

const MIGRATIONS = new URL("../../../stores/postgres/migrations/", import.meta.url);
const NEXT = "9999_of_the_next_version.sql";
const SQL = `
create table notes (id uuid primary key, conversation_id uuid not null references conversations on delete cascade, text text not null);
create index notes_by_conversation on notes (conversation_id);
alter table messages add column author text;
alter table conversations add column pinned boolean not null default false;
alter table turns add column attempt integer not null default 1;
alter table messages drop constraint messages_role_check;
alter table messages add constraint messages_role_check check (role in ('user', 'assistant', 'tool'));
insert into token_usage (tenant_id, day, tokens) values ('of the next version', '2026-01-01', 0);`;
const TIMEOUT_MS = 400_000;

const seed = Number(process.env["ROLL_OUT_SEED"] ?? Date.now() % 1_000_000);
const [noMilvus, previous] = await Promise.all([whyNoMilvus(), findPreviousVersion()]);

let place: Awaited<ReturnType<typeof createEmptyDatabase>>;
let milvus: MilvusServer | undefined;
let tree: VersionTree | undefined;
beforeEach(async () => {
  [place, milvus] = await Promise.all([createEmptyDatabase(), noMilvus ? undefined : startMilvusServer()]);
}, 120_000);
afterEach(async () => {
  await killServiceProcesses();
  await Promise.all([place.drop(), milvus?.remove(), tree?.remove()]);
});

function expectGood({ messages, answeredByBoth, serverFaults, wrongs }: RollOut): void {
  expect(wrongs).toEqual([]);
  // A process that is told to stop says so to new turns; nothing else may fail, but what the model's server did.
  expect(serverFaults.filter((fault) => !/^503 (shutting_down|model_unavailable)$/.test(fault))).toEqual([]);
  expect(messages).toBeGreaterThan(50);
  expect(answeredByBoth).toBeGreaterThan(1);
}

const environment = (): Record<string, string> =>
  milvus ? { MILVUS_ADDRESS: milvus.address, ENABLE_EPISODIC_MEMORY: "true" } : { ENABLE_EPISODIC_MEMORY: "false" };
const layers = noMilvus ? `without episodes: ${noMilvus}, ` : "";

test(
  `the next version is rolled out under load: it migrates while this one serves, this one starts on its schema, nothing is lost or doubled (${layers}ROLL_OUT_SEED=${seed})`,
  async () => {
    tree = await makeNextVersion({ name: NEXT, sql: SQL });
    const figures = await rollOut(place.url, { old: undefined, next: tree.main }, environment(), seed);
    expect(figures.migrationsBefore).toEqual((await readdir(MIGRATIONS)).sort());
    expect(figures.migrationsAfter).toEqual([...figures.migrationsBefore, NEXT]);
    expectGood(figures);
  },
  TIMEOUT_MS,
);

const title = `this version is rolled out over the one before it in the same way (${layers}ROLL_OUT_SEED=${seed})`;
(previous ? test : test.skip)(
  previous ? `${title}: ${previous}` : `${title} (skipped: git knows no earlier release, and PREVIOUS_VERSION names no commit)`,
  async () => {
    tree = await checkOutVersion(previous as string);
    const figures = await rollOut(place.url, { old: tree.main, next: undefined }, environment(), seed);
    expect(figures.migrationsAfter).toEqual((await readdir(MIGRATIONS)).sort());
    expectGood(figures);
  },
  TIMEOUT_MS,
);
