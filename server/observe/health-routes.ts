import type { Router } from "express";
import { z } from "zod";
import { statfs } from "node:fs/promises";
import { IN_MEMORY } from "../../stores/postgres/database/open-embedded-postgres.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { makeRouter, operationGroup, route, jsonAnswer } from "../http/openapi/operation.ts";

/** What tells whether the service can answer. */
export interface HealthChecks {
  /** What every answer needs, by name. */
  dependencies: Record<string, DependencyCheck>;
  /** What answers can go without, by name: shown, but no reason not to be ready. */
  optionalDependencies: Record<string, DependencyCheck>;
  isStopping: () => boolean;
}

/** `read_only`: it answers but cannot write, as with a full disk. */
const DEPENDENCY_STATES = ["up", "down", "read_only"] as const;
type DependencyState = (typeof DEPENDENCY_STATES)[number];

/** The state of each thing the service uses, by its name. */
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

/** Checks all of them at the same time. */
export async function statesOf(dependencies: Record<string, DependencyCheck>): Promise<[name: string, state: DependencyState][]> {
  return Promise.all(
    Object.entries(dependencies).map(async ([name, check]) => [
      name,
      await check().then(
        () => "up" as const,
        (error: unknown) => (error instanceof ReadOnly ? ("read_only" as const) : ("down" as const)),
      ),
    ]),
  );
}

/** `/healthz`: the process is alive. `/readyz`: it can answer; 503 when something an answer needs is down, or while stopping. */
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

/** Milliseconds that a check may take. */
const PROBE_TIMEOUT_MS = 2_000;
/** The least time between two requests to the model's server; every load balancer probes each few seconds. */
const MODEL_PROBE_EVERY_MS = 5_000;

/** Resolves when the dependency can serve; rejects otherwise. */
export type DependencyCheck = () => Promise<void>;

/** Fails a probe that takes too long. */
export function withTimeout(probe: () => Promise<unknown>): DependencyCheck {
  return function probeInTime() {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`no answer within ${PROBE_TIMEOUT_MS} ms`)), PROBE_TIMEOUT_MS);
    probe()
      .then(() => resolve(), reject)
      .finally(() => clearTimeout(timer));
    return promise;
  };
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

/** The size of a WAL file: with less room the embedded database breaks in the middle of a write. */
const ROOM_BYTES = 16 * 1024 * 1024;

/**
 * Fails where Postgres cannot write, and leaves nothing behind. A read-only or standby server refuses the update of no row; a full disk
 * refuses the temporary file of a result that does not fit into `work_mem`.
 */
const TRY_TO_WRITE = `
set local work_mem = '64kB';
update token_usage set tokens = tokens where false;
select count(*) from generate_series(1, 10000)`;

/** A Postgres that answers, but cannot write. */
export class ReadOnly extends Error {
  override readonly name = "ReadOnly";
}

async function tryToWrite(database: Database, dataDir: string): Promise<void> {
  if (!database.isEmbedded) return void (await database.query({ text: TRY_TO_WRITE }));
  if (dataDir.startsWith(IN_MEMORY)) return;
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize < ROOM_BYTES) throw new Error(`less than ${ROOM_BYTES} bytes are free`);
}

/** Checks that Postgres answers and can write. Rejects with ReadOnly when it only answers. `dataDir`: of the embedded one. */
export function checkPostgres(database: Database, dataDir: string): DependencyCheck {
  return withTimeout(async () => {
    await database.query({ text: "select 1" });
    await tryToWrite(database, dataDir).catch((cause: unknown) => {
      throw new ReadOnly("Postgres cannot write.", { cause });
    });
  });
}
