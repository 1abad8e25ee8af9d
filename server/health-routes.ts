import { Router } from "express";
import { ReadOnly } from "./check-postgres.ts";
import type { DependencyCheck } from "./dependency-checks.ts";

export interface HealthParts {
  /** What an answer needs, by name. */
  dependencies: Record<string, DependencyCheck>;
  /** What answers go on without, by name: shown, and no reason not to be ready. */
  optionalDependencies?: Record<string, DependencyCheck>;
  isStopping: () => boolean;
}

/** `read_only`: it answers, but nothing can be written: its disk is full, say. */
export const DEPENDENCY_STATES = ["up", "down", "read_only"] as const;
type DependencyState = (typeof DEPENDENCY_STATES)[number];

/** Asks all of them side by side. */
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
export function healthRoutes({ dependencies, optionalDependencies = {}, isStopping }: HealthParts): Router {
  return Router()
    .get("/healthz", (_request, response) => {
      response.json({ status: "alive" });
    })
    .get("/readyz", async (_request, response) => {
      const [states, optional] = await Promise.all([statesOf(dependencies), statesOf(optionalDependencies)]);
      const ready = !isStopping() && states.every(([, state]) => state === "up");
      response.status(ready ? 200 : 503).json({
        status: isStopping() ? "stopping" : ready ? "ready" : "not ready",
        dependencies: Object.fromEntries([...states, ...optional]),
      });
    });
}
