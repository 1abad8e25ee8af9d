import type { Registry } from "prom-client";
import { allDependencies, DEPENDENCY_STATES, type DependencyState, freeBytesOf, type HealthChecks, statesOf } from "./health.ts";
import { metricsIn } from "./service-metrics.ts";

export interface HealthNow {
  dependencies: readonly (readonly [name: string, state: DependencyState])[];
  /** Null: there is no data folder, or it cannot be read. */
  freeBytes: number | null;
}

export const UNKNOWN_HEALTH: HealthNow = { dependencies: [], freeBytes: null };

/** What `/readyz` asks, and the embedded database's free room. */
export async function readHealth(checks: HealthChecks): Promise<HealthNow> {
  const free = checks.dataFolder === null ? null : freeBytesOf(checks.dataFolder).catch(() => null);
  const [dependencies, freeBytes] = await Promise.all([statesOf(allDependencies(checks)), free]);
  return { dependencies, freeBytes };
}

export function healthMetrics(registry: Registry): (now: HealthNow) => void {
  const { gauge } = metricsIn(registry);
  const states = gauge(
    "dependency_state",
    "1 for the state that each thing the service uses is in, 0 for the others: up, down, read_only (also for a full disk).",
    ["dependency", "state"],
  );
  const free = gauge("data_folder_free_bytes", "Bytes free where the embedded database keeps its data.", ["folder"]);
  return ({ dependencies, freeBytes }) => {
    states.reset();
    free.reset();
    for (const [dependency, now] of dependencies)
      for (const state of DEPENDENCY_STATES) states.set({ dependency, state }, state === now ? 1 : 0);
    if (freeBytes !== null) free.set({ folder: "DATA_DIR" }, freeBytes);
  };
}
