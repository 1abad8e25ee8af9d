import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { newestMigration } from "../../../stores/postgres/database/migrate.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { startEmbeddingServer } from "../../servers/embedding-server.ts";
import { startMilvusServer, whyNoMilvus, type MilvusServer } from "../../servers/milvus-server.ts";
import { startModelServer } from "../../servers/model-server.ts";
import type { Network } from "../../servers/real-client.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { createEmptyDatabase } from "../../support/databases/databases.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";
import { within } from "../../support/wait-until.ts";
import { findWrongs, sendAllOnceMore, waitForJobs } from "./chaos-checks.ts";
import { CHAOS_SETTINGS, LEASE_MS, makeChaosModel } from "./chaos-model.ts";
import { faultsIn } from "./chaos-processes.ts";
import { talk, type Exchange } from "./chaos-users.ts";
import { lookAround } from "./look-around.ts";
import { checkOutVersion, findPreviousVersion, makeNextVersion, type VersionTree } from "./version-tree.ts";

const NEWEST = await newestMigration();
/** The migrations of a database that this version or an earlier one has made. */
const KNOWN = Array.from({ length: NEWEST }, (_, index) => index + 1);
const NEXT = 9999;
const SQL = `-- Compatible from ${String(NEWEST).padStart(4, "0")}.
create table notes (id uuid primary key, conversation_id uuid not null references conversations on delete cascade, text text not null);
create index notes_by_conversation on notes (conversation_id);
alter table messages add column author text;
alter table conversations add column starred boolean not null default false;
alter table turns add column attempt integer not null default 1;
alter table messages drop constraint messages_role_check;
alter table messages add constraint messages_role_check check (role in ('user', 'assistant', 'tool'));
insert into token_usage (tenant_id, day, tokens) values ('of the next version', '2026-01-01', 0);`;
jest.setTimeout(400_000);

const seed = Number(process.env["ROLL_OUT_SEED"] ?? Date.now() % 1_000_000);
const [noMilvus, previous] = await Promise.all([whyNoMilvus(), findPreviousVersion()]);

const USERS = Array.from({ length: 10 }, (_, number) => `user ${number}`);
const STAGE_MS = 2_500;
const STOP_MS = 30_000;
const SERVER_FAULT = /^\S+ (5\d\d) (\{.*)$/;

/** Which version is started from where; undefined is this one. */
type Versions = { old: string | undefined; next: string | undefined };

type RollOut = Awaited<ReturnType<typeof rollOut>>;

function answeredBy(exchanges: readonly Exchange[], addresses: ReadonlySet<string>): Set<string> {
  const isOne = ({ reports }: Exchange): boolean => reports.some(({ done, address }) => done && addresses.has(address));
  return new Set(exchanges.filter(isOne).map(({ userId }) => userId));
}

function serverFaultsOf(exchanges: readonly Exchange[]): string[] {
  const lines = exchanges.flatMap(({ reports }) => reports.flatMap(({ journal }) => journal));
  const faults = lines.flatMap((line) => {
    const [, status, body] = SERVER_FAULT.exec(line) ?? [];
    return body === undefined ? [] : [`${status} ${(JSON.parse(body) as { error: { code: string } }).error.code}`];
  });
  return [...new Set(faults)].sort();
}

/**
 * A rolling update on this empty database, under people who talk all the time: the old version serves alone, the new one starts and
 * migrates beside it, another process of the old one starts on the newer schema, all three serve, the old ones are told to stop, the new
 * one serves alone.
 */
async function rollOut(databaseUrl: string, { old, next }: Versions, environment: Record<string, string>, seed: number) {
  const random = makeSeededRandom(seed);
  await using opened = new AsyncDisposableStack();
  const [model, embedder] = await Promise.all([startModelServer({ keepSeen: false }), startEmbeddingServer()]);
  opened.defer(() => Promise.all([model.close(), embedder.close()]).then(() => undefined));
  model.answer(makeChaosModel(random));
  const settings = {
    ...CHAOS_SETTINGS,
    DATABASE_URL: databaseUrl,
    OPENAI_BASE_URL: model.url,
    EMBEDDING_BASE_URL: embedder.url,
    EMBEDDING_MODEL: "test-embed",
    EMBEDDING_DIMENSIONS: "4",
    ...environment,
  };
  const first = await startServiceProcess(settings, old);
  const database = await openPostgres(databaseUrl);
  opened.defer(() => database.close());
  const migrations = async (): Promise<number[]> =>
    (await database.query<{ version: number }>({ text: "select version from schema_migrations order by version" })).map(
      ({ version }) => version,
    );
  const wrongs: string[] = [];

  let serving: readonly ServiceProcess[] = [first];
  const network: Network = { addresses: () => serving.map(({ url }) => url), isKilled: () => false };
  let over = false;
  const looking = Promise.all(USERS.slice(0, 2).map((user) => lookAround(network, user, () => over)));
  const talking = Promise.all(USERS.map((user, index) => talk(network, user, seed + 2 * index, () => over)));

  /** Told to stop while the balancer still sends requests there. */
  async function stop(service: ServiceProcess): Promise<void> {
    service.kill("SIGTERM");
    const code = await within("the end after SIGTERM", service.exited, () => service.output().slice(-3_000), STOP_MS);
    serving = serving.filter((one) => one !== service);
    if (code !== 0) wrongs.push(`${service.url} ended with ${code} after SIGTERM: ${service.output().slice(-3_000)}`);
    wrongs.push(...faultsIn(service.output()).map((line) => `${service.url} printed: ${line}`));
  }

  await sleep(STAGE_MS);
  const migrationsBefore = await migrations();
  const newcomer = await startServiceProcess(settings, next);
  const migrationsAfter = await migrations();
  serving = [first, newcomer];
  await sleep(STAGE_MS);
  const second = await startServiceProcess(settings, old);
  serving = [first, newcomer, second];
  await sleep(STAGE_MS);
  await stop(first);
  await stop(second);
  await sleep(STAGE_MS);
  over = true;
  const exchanges = (await talking).flat();
  await sleep(LEASE_MS + 100); // what clients who went away left behind has run out
  const [byOld, byNext] = [answeredBy(exchanges, new Set([first.url, second.url])), answeredBy(exchanges, new Set([newcomer.url]))];
  await sendAllOnceMore(network, exchanges, random);
  wrongs.push(...(await waitForJobs(database)).wrongs, ...(await findWrongs(database, exchanges)));
  await stop(newcomer);
  return {
    migrationsBefore,
    migrationsAfter,
    messages: exchanges.length,
    answeredByBoth: [...byOld].filter((user) => byNext.has(user)).length,
    /** Status and code of everything that was answered with 5xx, each once. */
    serverFaults: [...new Set([...serverFaultsOf(exchanges), ...(await looking).flat()])],
    wrongs,
  };
}

let place: Awaited<ReturnType<typeof createEmptyDatabase>>;
let milvus: MilvusServer | undefined;
let tree: VersionTree | undefined;
beforeEach(async () => {
  [place, milvus] = await Promise.all([createEmptyDatabase(), noMilvus ? undefined : startMilvusServer()]);
});
afterEach(async () => {
  await killServiceProcesses();
  await Promise.all([place.drop(), milvus?.remove(), tree?.remove()]);
});

function expectGood({ messages, answeredByBoth, serverFaults, wrongs }: RollOut): void {
  // A process that is told to stop says so to new turns; nothing else may fail, but what the model's server did.
  const expected = /^503 (shutting_down|model_unavailable)$/;
  expect({ faults: serverFaults.filter((fault) => !expected.test(fault)), wrongs }).toEqual({ faults: [], wrongs: [] });
  expect(messages).toBeGreaterThan(50);
  expect(answeredByBoth).toBeGreaterThan(1);
}

const environment = (): Record<string, string> =>
  milvus ? { MILVUS_ADDRESS: milvus.address, ENABLE_EPISODIC_MEMORY: "true" } : { ENABLE_EPISODIC_MEMORY: "false" };
const layers = noMilvus ? `without episodes: ${noMilvus}, ` : "";

test(`nothing is lost or doubled when the next version is rolled out under load: it migrates while this version serves, and this version can start on its schema (${layers}ROLL_OUT_SEED=${seed})`, async () => {
  tree = await makeNextVersion({ name: `${NEXT}_of_the_next_version.sql`, sql: SQL });
  const figures = await rollOut(place.url, { old: undefined, next: tree.main }, environment(), seed);
  expect(figures.migrationsBefore).toEqual(KNOWN);
  expect(figures.migrationsAfter).toEqual([...KNOWN, NEXT]);
  expectGood(figures);
});

const title = `this version is rolled out over the one before it in the same way (${layers}ROLL_OUT_SEED=${seed})`;
(previous ? test : test.skip)(
  previous ? `${title}: ${previous}` : `${title} (skipped: git knows no earlier release, and PREVIOUS_VERSION names no commit)`,
  async () => {
    tree = await checkOutVersion(previous as string);
    const figures = await rollOut(place.url, { old: tree.main, next: undefined }, environment(), seed);
    expect(figures.migrationsAfter).toEqual(KNOWN);
    expectGood(figures);
  },
);
