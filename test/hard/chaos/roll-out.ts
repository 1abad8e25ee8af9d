import { setTimeout as sleep } from "node:timers/promises";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { findWrongs } from "./chaos-checks.ts";
import { makeChaosModel, MEMORY_MODEL, SUMMARY_MODEL } from "./chaos-model.ts";
import { faultsIn } from "./chaos-processes.ts";
import { sendAllOnceMore, waitForJobs } from "./chaos-settle.ts";
import { talk, type Exchange } from "./chaos-users.ts";
import { startEmbeddingServer } from "../../servers/embedding-server.ts";
import { startModelServer } from "../../servers/model-server.ts";
import type { Network } from "../../servers/real-client.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";
import { startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { within } from "../../support/within.ts";

const USERS = Array.from({ length: 10 }, (_, number) => `user ${number}`);
const LEASE_MS = 2_000;
const STAGE_MS = 4_000;
const STOP_MS = 30_000;
const SERVER_FAULT = /^\S+ (5\d\d) (\{.*)$/;

/** Which version is started from where; undefined is this one. */
export interface Versions {
  old: string | undefined;
  next: string | undefined;
}

export interface RollOut {
  migrationsBefore: string[];
  migrationsAfter: string[];
  messages: number;
  answeredByBoth: number;
  /** Status and code of everything that was answered with 5xx, each once. */
  serverFaults: string[];
  wrongs: string[];
}

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
 * A rolling update on this empty database, under people who talk all the time: the old version serves alone, the new one starts and migrates beside it,
 * another process of the old one starts on the newer schema, all three serve, the old ones are told to stop, the new one serves alone.
 */
export async function rollOut(
  databaseUrl: string,
  { old, next }: Versions,
  environment: Record<string, string>,
  seed: number,
): Promise<RollOut> {
  const random = makeSeededRandom(seed);
  await using opened = new AsyncDisposableStack();
  const [model, embedder] = await Promise.all([startModelServer({ keepSeen: false }), startEmbeddingServer()]);
  opened.defer(() => Promise.all([model.close(), embedder.close()]).then(() => undefined));
  model.answer(makeChaosModel(random));
  const settings = {
    ...{ DATABASE_URL: databaseUrl, OPENAI_BASE_URL: model.url, SUMMARY_MODEL, MEMORY_MODEL, ENABLE_CORE_MEMORY: "true" },
    ...{ EMBEDDING_BASE_URL: embedder.url, EMBEDDING_MODEL: "test-embed", EMBEDDING_DIMENSIONS: "4" },
    ...{ TURN_LEASE_MS: String(LEASE_MS), SHUTDOWN_GRACE_MS: "500", MODEL_FIRST_TOKEN_TIMEOUT_MS: "3000", MODEL_IDLE_TIMEOUT_MS: "1500" },
    ...{ SUMMARY_MIN_MESSAGES: "4", SUMMARY_UPDATE_DELTA: "2", HISTORY_WINDOW: "2" },
    ...environment,
  };
  const first = await startServiceProcess(settings, old);
  const database = await openPostgres(databaseUrl);
  opened.defer(() => database.close());
  const migrations = async (): Promise<string[]> =>
    (await database.query<{ name: string }>({ text: "select name from schema_migrations order by version" })).map(({ name }) => name);
  const wrongs: string[] = [];

  let serving: readonly ServiceProcess[] = [first];
  const network: Network = { addresses: () => serving.map(({ url }) => url), isKilled: () => false };
  let over = false;
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
    serverFaults: serverFaultsOf(exchanges),
    wrongs,
  };
}
