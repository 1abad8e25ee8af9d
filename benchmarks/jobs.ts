import { defineBench } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { findOldestWaiting, makeJobOverview } from "../stores/jobs/job-overview.ts";
import { openPostgres } from "../stores/postgres/database/open-postgres.ts";
import { type AskedTurn, type MemoryService, postApi, startMemoryService } from "./support/service/memory-service.ts";
import { startMemoryStores } from "./support/service/memory-service.ts";
import { allJobsDone, historyOf, questionOf, seedKnowledge, seedUsers } from "./support/service/memory-users.ts";
import type { Progress } from "./support/progress.ts";
import { makeSamples, type Samples } from "./support/figures.ts";
import { startModel } from "./support/start-process.ts";
import { rawFetch } from "./support/turn/contenders.ts";

/** Inserts texts into a table that has only a key; returns the milliseconds. */
type PlainInsert = (texts: readonly string[]) => Promise<number>;

const BATCH = 500;

async function openPlainInsert(databaseUrl: string, opened: AsyncDisposableStack): Promise<PlainInsert> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  opened.defer(() => client.end());
  await client.query("create table plain (id bigint generated always as identity primary key, content text not null)");
  return async (texts) => {
    const began = performance.now();
    for (let start = 0; start < texts.length; start += BATCH)
      await client.query("insert into plain (content) select unnest($1::text[])", [texts.slice(start, start + BATCH)]);
    return performance.now() - began;
  };
}

const STREAMS = 10;
const TURNS_AT_REST = 15;
const REST_MS = 150;
const LOAD_MS = 8_000;
const LOOK_EVERY_MS = 5;
const OLDEST_EVERY_MS = 250;
const IMPORTED_CONVERSATIONS = 20;
const IMPORTED_EXCHANGES = 100;
const PREFIX = "jobs";
const RAW = "raw model call";
const PLAIN = "plain insert into one table";

interface Watched {
  service: MemoryService;
  jobsDone: (asked: AskedTurn, user: string) => Promise<void>;
  /** Age of the oldest waiting job, 0 without one; null where asking would disturb the service. */
  oldestSeconds: (() => Promise<number>) | null;
}

/** Reads the queue's table every 5 ms over its own connection, which the service does not notice. */
async function watchedOnPostgres(service: MemoryService, databaseUrl: string, opened: AsyncDisposableStack): Promise<Watched> {
  const database = await openPostgres(databaseUrl);
  opened.defer(() => database.close());
  const overview = makeJobOverview(database);
  return {
    service,
    async jobsDone({ result: { conversation_id: conversationId } }, userId) {
      const isWaiting = async (): Promise<boolean> =>
        (await overview.listOf({ tenantId: "default", userId, conversationId })).some(({ state }) => state !== "dead");
      while (await isWaiting()) await sleep(LOOK_EVERY_MS);
    },
    oldestSeconds: async () => Math.max(0, ...(await findOldestWaiting(database)).map(({ seconds }) => seconds)),
  };
}

/** Asks the service through `settle`, for which jobs do not wait. */
function watchedThroughApi(service: MemoryService): Watched {
  return {
    service,
    async jobsDone({ result }) {
      const settle = (): Promise<{ settled: boolean }> => postApi(service.url, `/conversations/${result.conversation_id}/settle`, {});
      while (!(await settle()).settled);
    },
    oldestSeconds: null,
  };
}

const lagOf = (when: string, name: string): string => `job lag ${when}, ${name}`;
const oldestOf = (name: string): string => `oldest job that waits, under ${STREAMS} streams, ${name}`;
const AT_REST = "at rest";
const UNDER_LOAD = `under ${STREAMS} streams`;

async function lagOfTurn({ service, jobsDone }: Watched, user: number, turn: number): Promise<number> {
  const question = questionOf(PREFIX, user, turn);
  const asked = await service.ask(question);
  const began = performance.now();
  await jobsDone(asked, question.user);
  return performance.now() - began;
}

async function measureAtRest(watched: Watched, modelUrl: string, round: number, samples: Samples): Promise<void> {
  const raw = rawFetch(modelUrl);
  for (let turn = 0; turn < TURNS_AT_REST; turn++) {
    samples.add(RAW, round, (await raw.turn("", "Please answer with forty words.")).totalMs);
    samples.add(lagOf(AT_REST, watched.service.name), round, await lagOfTurn(watched, STREAMS, turn));
    await sleep(REST_MS);
  }
}

async function measureUnderLoad(watched: Watched, round: number, samples: Samples): Promise<void> {
  const { service, oldestSeconds } = watched;
  const until = performance.now() + LOAD_MS;
  const isOver = (): boolean => performance.now() > until;
  const stream = async (user: number): Promise<void> => {
    for (let turn = 0; !isOver(); turn++) await service.ask(questionOf(PREFIX, user, turn));
  };
  const watch = async (): Promise<void> => {
    for (let turn = 0; !isOver(); turn++) samples.add(lagOf(UNDER_LOAD, service.name), round, await lagOfTurn(watched, STREAMS, turn));
  };
  const look = async (): Promise<void> => {
    for (; oldestSeconds && !isOver(); await sleep(OLDEST_EVERY_MS))
      samples.add(oldestOf(service.name), round, (await oldestSeconds()) * 1_000);
  };
  await Promise.all([...Array.from({ length: STREAMS }, (_, user) => stream(user)), watch(), look()]);
  const began = performance.now();
  await allJobsDone(service.url);
  samples.add(
    `until all jobs are done after ${LOAD_MS / 1_000} s of ${STREAMS} streams, ${service.name}`,
    round,
    performance.now() - began,
  );
}

/** Imports conversations one after another: messages a second until stored, and until their jobs are done. */
async function measureImport({ url, name }: MemoryService, plain: PlainInsert, round: number, samples: Samples): Promise<void> {
  const conversations = Array.from({ length: IMPORTED_CONVERSATIONS }, (_, index) => historyOf(index, IMPORTED_EXCHANGES));
  const texts = conversations.flat().map(({ content }) => content);
  const perSecond = (ms: number): number => texts.length / (ms / 1_000);
  samples.add(PLAIN, round, perSecond(await plain(texts)));
  const began = performance.now();
  for (const [index, messages] of conversations.entries())
    await postApi(url, "/conversations/import", { user_id: `import-${round}-${index}`, session_id: "history", messages });
  samples.add(`import: messages stored, ${name}`, round, perSecond(performance.now() - began));
  await allJobsDone(url);
  samples.add(`import: messages stored, summarised and indexed, ${name}`, round, perSecond(performance.now() - began));
}

async function run({ rounds }: { rounds: number }, progress: Progress): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  const model = await startModel(opened);
  const stores = await startMemoryStores(opened);
  const onPostgres = await stores.open();
  const start = async (name: string, environment: Record<string, string>): Promise<MemoryService> => {
    const service = await startMemoryService(name, model.line, environment);
    opened.defer(() => service.process.stop());
    return service;
  };
  const watched = [
    await watchedOnPostgres(await start("Postgres", onPostgres), onPostgres["DATABASE_URL"] ?? "", opened),
    watchedThroughApi(await start("PGlite", { DATA_DIR: "memory://" })),
  ];
  const plain = await openPlainInsert(stores.databaseUrl, opened);
  for (const { service } of watched) {
    progress.step(`bringing in users: ${service.name}`);
    await seedKnowledge(service.url);
    await seedUsers(service.url, { prefix: PREFIX, count: STREAMS + 1, exchanges: 8 });
    await allJobsDone(service.url);
    const askAll = (turn: number) => Promise.all(Array.from({ length: STREAMS }, (_, user) => service.ask(questionOf(PREFIX, user, turn))));
    for (let turn = 0; turn < 20; turn++) await askAll(turn);
    await allJobsDone(service.url);
  }

  const samples = makeSamples();
  for (let round = 0; round < rounds; round++) {
    for (const each of round % 2 === 0 ? watched : watched.toReversed()) {
      progress.step("round", round, rounds);
      await measureAtRest(each, model.line, round, samples);
      await measureUnderLoad(each, round, samples);
      await measureImport(each.service, plain, round, samples);
    }
  }

  const units = (name: string): string => (name.startsWith("import") || name === PLAIN ? "messages/s" : "ms");
  const referenceOf = (name: string): string => (units(name) === "ms" ? RAW : PLAIN);
  const figures = samples.names().map((name) => {
    const isReference = name === RAW || name === PLAIN;
    return samples.figure(name, units(name), isReference ? {} : { reference: referenceOf(name) });
  });
  const notes = [
    `Lag is from the arrival of done until the jobs of the turn (summary, index, memory agent) are done; their model answers at once. On Postgres (vectors: ${stores.vectors}) the queue's table is looked at every ${LOOK_EVERY_MS} ms over another connection; on PGlite only the service can tell, which looks after 10, 15, 22, … ms: an upper bound.`,
    `Imports are ${IMPORTED_CONVERSATIONS} calls of ${IMPORTED_EXCHANGES * 2} messages, one after another. Load, model, stores and service share the cores.`,
  ];
  return { figures, notes };
}

export const jobs = defineBench({
  asks: "How far does memory lag behind a turn, at rest and under load, and how fast is a history imported",
  minutes: { short: 2, long: 4 },
  numbers: { rounds: { of: "rounds on Postgres and on PGlite", short: 1, long: 3 } },
  run,
});
