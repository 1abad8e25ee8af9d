import type { Router } from "express";
import { z } from "zod";
import { statfs } from "node:fs/promises";
import { IN_MEMORY } from "../../stores/postgres/database/open-embedded-postgres.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { abortable } from "../../models/deadlines.ts";
import { makeRouter, operationGroup, route, jsonAnswer } from "../http/openapi/operation.ts";

export interface HealthChecks {
  /** Every answer needs them. */
  dependencies: Record<string, DependencyCheck>;
  /** Answers can go without them: they are shown, and the service is ready all the same. */
  optionalDependencies: Record<string, DependencyCheck>;
  isStopping: () => boolean;
}

/** `read_only`: it answers but cannot write, as with a full disk. */
const DEPENDENCY_STATES = ["up", "down", "read_only"] as const;
type DependencyState = (typeof DEPENDENCY_STATES)[number];

export const DependencyStates = z.record(z.string(), z.enum(DEPENDENCY_STATES));

const Health = z.object({ status: z.literal("alive") });
const Readiness = z.object({ status: z.enum(["ready", "not ready", "stopping"]), dependencies: DependencyStates });

export const healthOperations = operationGroup({
  tag: "service",
  schemas: { Health, Readiness },
  routes: {
    getHealth: route("GET /healthz", "Whether the process is alive", { answer: Health, errors: ["misdirected_request"], isOpen: true }),
    getReadiness: route("GET /readyz", "Whether it can answer, and the state of each thing it uses", {
      answers: {
        200: jsonAnswer(Readiness, "Ready."),
        503: jsonAnswer(Readiness, "Something that an answer needs is down, or the service is stopping."),
      },
      errors: ["misdirected_request"],
      isOpen: true,
    }),
  },
});

export async function statesOf(dependencies: Record<string, DependencyCheck>): Promise<[name: string, state: DependencyState][]> {
  const stateOf = (check: DependencyCheck): Promise<DependencyState> =>
    check().then(
      () => "up",
      (error: unknown) => (error instanceof ReadOnly ? "read_only" : "down"),
    );
  return Promise.all(Object.entries(dependencies).map(async ([name, check]) => [name, await stateOf(check)]));
}

export function healthRoutes({ dependencies, optionalDependencies, isStopping }: HealthChecks): Router {
  return makeRouter(healthOperations, {
    getHealth(_request, response) {
      response.json({ status: "alive" });
    },
    async getReadiness(_request, response) {
      const [states, optional] = await Promise.all([statesOf(dependencies), statesOf(optionalDependencies)]);
      const ready = !isStopping() && states.every(([, state]) => state === "up");
      response.status(ready ? 200 : 503).json({
        status: isStopping() ? "stopping" : ready ? "ready" : "not ready",
        dependencies: Object.fromEntries([...states, ...optional]),
      });
    },
  });
}

const PROBE_TIMEOUT_MS = 2_000;
/** The least time between two requests to the model's server: several load balancers may probe at once. */
const MODEL_PROBE_EVERY_MS = 5_000;

export type DependencyCheck = () => Promise<void>;

/** Fails a probe that takes longer than PROBE_TIMEOUT_MS. */
export function withTimeout(probe: () => Promise<unknown>): DependencyCheck {
  return async () => void (await abortable(probe, AbortSignal.timeout(PROBE_TIMEOUT_MS)));
}

/** Requests the list of models, which costs nothing. Any status below 500 will do: not every server has that list. */
export function checkModelServer(baseUrl: string, apiKey: string | undefined): DependencyCheck {
  let last: { at: number; outcome: Promise<void> } | undefined;
  async function probe(): Promise<void> {
    const response = await fetch(`${baseUrl.replace(/\/$/, "")}/models`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    await response.body?.cancel();
    if (response.status >= 500) throw new Error(`status ${response.status}`);
  }
  return () => {
    if (!last || performance.now() - last.at > MODEL_PROBE_EVERY_MS) last = { at: performance.now(), outcome: probe() };
    return last.outcome;
  };
}

/** A WAL file: with less room the embedded database breaks in the middle of a write. */
const ROOM_BYTES = 16 * 1024 * 1024;

/** A read-only or standby server refuses the update of no row, a full disk the temporary file of a result beyond `work_mem`. */
const TRY_TO_WRITE = `
set local work_mem = '64kB';
update token_usage set tokens = tokens where false;
select count(*) from generate_series(1, 10000)`;

class ReadOnly extends Error {}

async function tryToWrite(database: Database, dataDir: string): Promise<void> {
  if (!database.isEmbedded) return void (await database.query({ text: TRY_TO_WRITE }));
  if (dataDir.startsWith(IN_MEMORY)) return;
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize < ROOM_BYTES) throw new Error(`less than ${ROOM_BYTES} bytes are free`);
}

/** Rejects with ReadOnly when Postgres only answers. `dataDir`: of the embedded one. */
export function checkPostgres(database: Database, dataDir: string): DependencyCheck {
  return withTimeout(async () => {
    await database.query({ text: "select 1" });
    await tryToWrite(database, dataDir).catch((cause: unknown) => {
      throw new ReadOnly("Postgres cannot write.", { cause });
    });
  });
}
