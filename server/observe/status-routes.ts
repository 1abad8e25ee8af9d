import type { Router } from "express";
import { z } from "zod";
import { Layer } from "../../turn/state.ts";
import type { JobOverview } from "../../stores/jobs/job-overview.ts";
import { canActFor, type Caller, callerOf } from "../auth/caller.ts";
import { type HealthParts, statesOf, DependencyStates } from "./health-routes.ts";
import { jobTenantOf, jobCounts } from "../memory/job-routes.ts";
import type { LastEvent } from "../../graph/start-turn.ts";
import type { Owner } from "../../stores/owner.ts";
import { makeRouter, operationGroup, route, time, type Sent } from "../http/openapi/operation.ts";

const RecentTurn = z.object({
  at: time,
  total_ms: z.number().nullable(),
  first_token_ms: z.number().nullable(),
  degraded: z.array(Layer),
  code: z.string().nullable().describe("Why it failed."),
});
/** What a turn of this process took, in milliseconds. */
export type RecentTurn = Sent<z.output<typeof RecentTurn>>;

const Status = z.object({
  dependencies: DependencyStates,
  layers: z.record(Layer, z.enum(["on", "off"])),
  core_memory_sections: z.array(z.string()).describe("What core memory can hold."),
  models: z.object({ chat: z.string(), embedder: z.string().nullable() }),
  turns: z.array(RecentTurn).describe("The last turns of this process, oldest first."),
  jobs: jobCounts.nullable().describe("Null when the database does not answer, or the caller is one user."),
});

export const statusOperations = operationGroup({
  tag: "service",
  schemas: { Status },
  routes: {
    getStatus: route("GET /api/v1/status", "What the service is made of and how it fares: dependencies, layers, the last turns, the jobs", {
      answer: Status,
    }),
  },
});

export interface StatusParts extends HealthParts {
  /** Which layers of memory are switched on. */
  layers: Readonly<Record<Layer, boolean>>;
  /** What core memory can hold. */
  sections: readonly string[];
  /** Which model answers, and which embedder indexes; null without an index. */
  models: { chat: string; embedder: string | null };
  recentTurns: RecentTurns;
  jobOverview: JobOverview;
}

/** `GET /status`: what the service is made of and how it fares, for people: dependencies, layers, the last turns of the caller's tenant or user in this process, the jobs. */
export function statusRoutes({
  dependencies,
  optionalDependencies = {},
  layers,
  sections,
  models,
  recentTurns,
  jobOverview,
}: StatusParts): Router {
  return makeRouter(statusOperations, {
    async getStatus(_request, response) {
      const caller = callerOf(response);
      const [states, jobs] = await Promise.all([
        statesOf({ ...dependencies, ...optionalDependencies }),
        // Null: the database does not answer, which `dependencies` says, or the caller is one user.
        caller.userId === null ? jobOverview.count(jobTenantOf(response)).catch(() => null) : null,
      ]);
      const switches = Object.fromEntries(Object.entries(layers).map(([layer, isOn]) => [layer, isOn ? "on" : "off"])) as Record<
        Layer,
        "on" | "off"
      >;
      response.json({
        dependencies: Object.fromEntries(states),
        layers: switches,
        core_memory_sections: sections,
        models,
        turns: recentTurns.list(caller),
        jobs,
      });
    },
  });
}

/** Turns that are remembered. */
const KEPT = 200;

/** The last turns of this process: for people who look, without a database of metrics. */
export interface RecentTurns {
  add(owner: Owner, last: LastEvent): void;
  /** Those that a caller may know of, oldest first. */
  list(caller: Caller): readonly RecentTurn[];
}

function isShown({ tenantId, userId }: Owner, caller: Caller): boolean {
  return caller.everyTenant || (tenantId === caller.tenantId && canActFor(caller, userId));
}

export function makeRecentTurns(): RecentTurns {
  const turns: { owner: Owner; turn: RecentTurn }[] = [];
  return {
    add({ tenantId, userId }, { status, content }) {
      const at = new Date();
      const turn =
        status === "error"
          ? { at, total_ms: null, first_token_ms: null, degraded: [], code: content.code }
          : {
              at,
              total_ms: content.timings.total_ms,
              first_token_ms: content.timings.first_token_ms,
              degraded: content.degraded,
              code: null,
            };
      turns.push({ owner: { tenantId, userId }, turn });
      if (turns.length > KEPT) turns.shift();
    },
    list: (caller) => turns.filter(({ owner }) => isShown(owner, caller)).map(({ turn }) => turn),
  };
}
