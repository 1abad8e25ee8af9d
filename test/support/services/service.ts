import { pino } from "pino";
import { parseConfig } from "../../../server/start/config.ts";
import type { AgentExtras } from "../../../server/start/open-agents.ts";
import type { McpOptions } from "../../../server/start/open-mcp.ts";
import { serve } from "../../../server/start/open-service.ts";
import type { ConnectionLimits } from "../../../server/http/listen.ts";
import { createRealDatabase } from "../databases/databases.ts";
import { NO_LIMITS } from "../../servers/service-process.ts";
import { useOpened } from "../use-opened.ts";

export type TestService = Awaited<ReturnType<typeof openTestService>>;

/**
 * The whole service in this process on a free port, over a new database of the real Postgres unless `environment` names one. Quiet,
 * without limits, and with a grace of one second, so that a test that leaves a turn running does not wait for it.
 */
export async function openTestService(
  environment: Record<string, string> = {},
  options: { heartbeatMs?: number; connectionLimits?: Partial<ConnectionLimits>; extras?: AgentExtras; mcp?: McpOptions } = {},
) {
  const real = environment["DATABASE_URL"] || environment["DATA_DIR"] ? undefined : await createRealDatabase();
  const config = parseConfig({
    PORT: "0",
    SHUTDOWN_GRACE_MS: "1000",
    ENABLE_EPISODIC_MEMORY: "false",
    ENABLE_CORE_MEMORY: "false",
    ...NO_LIMITS,
    ...(real ? { DATABASE_URL: real.url } : {}),
    ...environment,
  });
  const service = await serve(config, pino({ level: "silent" }), options);
  return {
    ...service,
    async get(path: string, headers: Record<string, string> = {}) {
      const response = await fetch(service.url + path, { headers });
      return { status: response.status, json: (await response.json()) as Record<string, never>, headers: response.headers };
    },
    close: () => service.close().then(() => real?.drop()),
  };
}

export const useTestService = (...given: Parameters<typeof openTestService>) => useOpened(() => openTestService(...given));
