import { Router } from "express";
import type { Layer } from "../graph/state.ts";
import type { JobOverview } from "../stores/jobs/job-overview.ts";
import { callerOf } from "./caller.ts";
import { statesOf, type HealthParts } from "./health-routes.ts";
import { jobTenantOf } from "./job-routes.ts";
import type { RecentTurns } from "./recent-turns.ts";

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
  return Router().get("/status", async (_request, response) => {
    const caller = callerOf(response);
    const [states, jobs] = await Promise.all([
      statesOf({ ...dependencies, ...optionalDependencies }),
      // Null: the database does not answer, which `dependencies` says, or the caller is one user.
      caller.userId === null ? jobOverview.count(jobTenantOf(response)).catch(() => null) : null,
    ]);
    response.json({
      dependencies: Object.fromEntries(states),
      layers: Object.fromEntries(Object.entries(layers).map(([layer, isOn]) => [layer, isOn ? "on" : "off"])),
      core_memory_sections: sections,
      models,
      turns: recentTurns.list(caller),
      jobs,
    });
  });
}
