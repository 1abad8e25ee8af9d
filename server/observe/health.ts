import { z } from "zod";
import { statfs } from "node:fs/promises";
import { IN_MEMORY } from "../../stores/postgres/database/open-embedded-postgres.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import type { ModelServer } from "../settings/model-server.ts";
import { abortable } from "../../turn/deadlines.ts";
import { serverHeaders, serverUrl } from "../../models/wire/server-address.ts";

export interface HealthChecks {
  /** While one of them is down the service is not ready. */
  dependencies: Record<string, DependencyCheck>;
  /** Only answers need them; memory works without. They count with `strict`. */
  answerDependencies: Record<string, DependencyCheck>;
  /** Answers can go without them. */
  optionalDependencies: Record<string, DependencyCheck>;
  isStopping: () => boolean;
  /** The embedded database's folder; null when in memory. */
  dataFolder: string | null;
}

/** `read_only`: it answers but cannot write, as with a full disk. */
export const DEPENDENCY_STATES = ["up", "down", "read_only"] as const;

export type DependencyState = (typeof DEPENDENCY_STATES)[number];

export const DependencyStates = z.record(z.string(), z.enum(DEPENDENCY_STATES));

export async function statesOf(dependencies: Record<string, DependencyCheck>): Promise<[name: string, state: DependencyState][]> {
  const stateOf = (check: DependencyCheck): Promise<DependencyState> =>
    check().then(
      () => "up",
      (error: unknown) => (error instanceof ReadOnly ? "read_only" : "down"),
    );
  return Promise.all(Object.entries(dependencies).map(async ([name, check]) => [name, await stateOf(check)]));
}

export const allDependencies = ({ dependencies, answerDependencies, optionalDependencies }: HealthChecks) => {
  return { ...dependencies, ...answerDependencies, ...optionalDependencies };
};

const PROBE_TIMEOUT_MS = 2_000;

/** The least time between two requests to a model's server: several load balancers may probe at once. */
const MODEL_PROBE_EVERY_MS = 5_000;

export type DependencyCheck = () => Promise<void>;

/** Fails a probe that takes longer than PROBE_TIMEOUT_MS. */
export function withTimeout(probe: () => Promise<unknown>): DependencyCheck {
  return async () => void (await abortable(probe, AbortSignal.timeout(PROBE_TIMEOUT_MS)));
}

/**
 * Requests the list of models, which costs nothing. Any status below 500 will do: not every server has that list. `use` tries what the list
 * does not tell, until it succeeds, and again after an outage.
 */
export function checkModelServer(
  { url, apiKey, ...gateway }: ModelServer,
  use?: (signal: AbortSignal) => Promise<unknown>,
): DependencyCheck {
  let last: { at: number; outcome: Promise<void> } | undefined;
  let isProven = use === undefined;
  async function probe(): Promise<void> {
    const wasProven = isProven;
    isProven = use === undefined;
    const address = serverUrl(url, "/models");
    const response = await fetch(address, {
      headers: serverHeaders(address, apiKey, gateway),
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    await response.body?.cancel();
    if (response.status >= 500) throw new Error(`status ${response.status}`);
    if (!wasProven) await use?.(AbortSignal.timeout(PROBE_TIMEOUT_MS));
    isProven = true;
  }
  return () => {
    if (!last || performance.now() - last.at > MODEL_PROBE_EVERY_MS) last = { at: performance.now(), outcome: probe() };
    return last.outcome;
  };
}

/** A WAL file: with less room the embedded database breaks during a write. */
const ROOM_BYTES = 16 * 1024 * 1024;

export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** A read-only or standby server refuses the update of no row, a full disk the temporary file of a result beyond `work_mem`. */
const TRY_TO_WRITE = `
set local work_mem = '64kB';
update token_usage set tokens = tokens where false;
select count(*) from generate_series(1, 10000)`;

class ReadOnly extends Error {}

async function tryToWrite(database: Database, dataDir: string): Promise<void> {
  if (!database.isEmbedded) return void (await database.query({ text: TRY_TO_WRITE }));
  if (dataDir.startsWith(IN_MEMORY)) return;
  if ((await freeBytesOf(dataDir)) < ROOM_BYTES) throw new Error(`less than ${ROOM_BYTES} bytes are free`);
}

/** Rejects with ReadOnly when Postgres only answers. `dataDir`: the embedded one's. */
export function checkPostgres(database: Database, dataDir: string): DependencyCheck {
  return withTimeout(async () => {
    await database.query({ text: "select 1" });
    await tryToWrite(database, dataDir).catch((cause: unknown) => {
      throw new ReadOnly("Postgres cannot write.", { cause });
    });
  });
}
