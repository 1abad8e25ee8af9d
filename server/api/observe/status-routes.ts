import type { Router } from "express";
import { z } from "zod";
import { MOST_PICTURE_BYTES } from "../../../turn/picture.ts";
import { Layer } from "../../../turn/state.ts";
import { McpServerState } from "../mcp/mcp-server-routes.ts";
import { MOST_BYTES_OF_MESSAGE } from "../../turns/read-parts.ts";
import { RecentTurn } from "../../turns/turn-registry.ts";
import { callerOf } from "../../auth/caller.ts";
import { allDependencies, DependencyStates, statesOf } from "../../observe/health.ts";
import { jobTenantOf, jobCounts } from "../memory/job-routes.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Models } from "../../parts/open-models.ts";
import type { Memory } from "../../parts/open-memory.ts";
import type { Turns } from "../../turns/open-turn.ts";
import type { Mcp } from "../../parts/open-mcp.ts";
import type { HealthChecks } from "../../observe/health.ts";
import type { Observing } from "../../observe/open-observing.ts";
import type { Config } from "../../settings/config.ts";
import { UnfitModels } from "../../models/unfit-models.ts";
import { makeRouter, operationGroup, route } from "../../http/operation.ts";

const Status = z.object({
  dependencies: DependencyStates,
  layers: z.record(Layer, z.enum(["on", "off"])),
  core_memory_sections: z.array(z.string()).describe("What core memory can hold."),
  models: z.object({
    ...{ chat: z.string(), router: z.string(), summary: z.string(), memory: z.string() },
    embedder: z.string().nullable(),
  }),
  unfit_models: UnfitModels,
  pictures: z
    .object({ max_count: z.int(), max_bytes: z.int(), max_total_bytes: z.int() })
    .describe("What one message may show: how many, bytes of each and of all together, before base64."),
  search_level: z
    .enum(["milvus", "pgvector", "plain"])
    .nullable()
    .describe("What compares vectors: a Milvus, a Postgres with pgvector, or the service itself. Null without episodic memory."),
  mcp_servers: z
    .array(McpServerState)
    .describe("Those of the system and of the tenant; null when the database does not answer.")
    .nullable(),
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

export function statusRoutes({
  stores,
  models,
  memory,
  turns,
  mcp,
  health,
  observing,
  config,
}: {
  stores: Pick<Stores, "jobs">;
  models: Models;
  memory: Memory;
  turns: Turns;
  mcp: Mcp;
  health: HealthChecks;
  observing: Observing;
  config: Config;
}): Router {
  return makeRouter(statusOperations, {
    async getStatus(_request, response) {
      const caller = callerOf(response);
      const [states, jobs, mcpServers] = await Promise.all([
        statesOf(allDependencies(health)),
        caller.userId === null ? stores.jobs.count(jobTenantOf(response)).catch(() => null) : null,
        mcp.servers.states(caller.tenantId).catch(() => null),
      ]);
      const switches = Object.entries(memory.layers).map(([layer, isOn]) => [layer, isOn ? "on" : "off"]);
      response.json({
        dependencies: Object.fromEntries(states),
        layers: Object.fromEntries(switches) as Record<Layer, "on" | "off">,
        core_memory_sections: [...memory.sections],
        models: { chat: models.description, ...models.descriptions, embedder: memory.episodes?.memory.embedder.name ?? null },
        unfit_models: observing.unfitModels(),
        pictures: { max_count: config.MAX_PICTURES, max_bytes: MOST_PICTURE_BYTES, max_total_bytes: MOST_BYTES_OF_MESSAGE },
        search_level: memory.episodes?.level ?? null,
        mcp_servers: mcpServers,
        turns: turns.recent.list(caller),
        jobs,
      });
    },
  });
}
