import type { Request, Response, Router } from "express";
import { z } from "zod";
import { parseRequest } from "../../http/parse-request.ts";
import { makeRouter, operationGroup, route, jsonAnswer } from "../../http/operation.ts";
import { type HealthChecks, DependencyStates, statesOf, allDependencies } from "../../observe/health.ts";

const ReadinessQuery = z.strictObject({
  strict: z
    .enum(["true", "false"], "must be true or false")
    .default("false")
    .describe("`true`: it is not ready without the chat model either."),
});

const Health = z.object({ status: z.literal("alive") });
const Readiness = z.object({ status: z.enum(["ready", "not ready", "stopping"]), dependencies: DependencyStates });

const readiness = {
  query: ReadinessQuery,
  answers: {
    200: jsonAnswer(Readiness, "Ready."),
    503: jsonAnswer(Readiness, "Postgres is down or read-only, with `strict` perhaps the chat model; or the service is stopping."),
  },
  errors: ["misdirected_request"] as const,
  isOpen: true,
} as const;

export const healthOperations = operationGroup({
  tag: "service",
  schemas: { Health, Readiness },
  routes: {
    getHealth: route("GET /healthz", "Whether the process is alive", { answer: Health, errors: ["misdirected_request"], isOpen: true }),
    getReadiness: route("GET /readyz", "Whether requests can be sent to it, and the state of each thing it uses", readiness),
    getServiceHealth: route("GET /api/v1/health", "The same as `/readyz`, for clients that know only the API", readiness),
  },
});

export function healthRoutes(checks: HealthChecks): Router {
  const { dependencies, answerDependencies, isStopping } = checks;
  async function getReadiness(request: Request, response: Response): Promise<void> {
    const { strict } = parseRequest(ReadinessQuery, request.query);
    const needed = strict === "true" ? { ...dependencies, ...answerDependencies } : dependencies;
    const states = await statesOf(allDependencies(checks));
    const ready = !isStopping() && states.every(([name, state]) => state === "up" || !Object.hasOwn(needed, name));
    response.status(ready ? 200 : 503).json({
      status: isStopping() ? "stopping" : ready ? "ready" : "not ready",
      dependencies: Object.fromEntries(states),
    });
  }
  return makeRouter(healthOperations, {
    getHealth(_request, response) {
      response.json({ status: "alive" });
    },
    getReadiness,
    getServiceHealth: getReadiness,
  });
}
