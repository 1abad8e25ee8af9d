import { createRealDatabase } from "../databases/databases.ts";
import { keepServiceProcess, NO_LIMITS, startServiceProcess } from "../../servers/service-process.ts";
import { useOpened } from "../use-opened.ts";
import { serveLibrary, type LibraryOptions } from "./serve-library.ts";

export type TestService = Awaited<ReturnType<typeof openTestService>>;

async function serveProcess(environment: Record<string, string>): Promise<{ url: string; close(): Promise<void> }> {
  const service = await startServiceProcess(environment);
  keepServiceProcess(service);
  return {
    url: service.url,
    async close() {
      service.kill("SIGTERM");
      await service.exited;
    },
  };
}

/**
 * The service as it is built, in a process of its own on a free port, over a new database of the real Postgres unless `environment` names
 * one. Without limits, and with a grace of one second, so that a test that leaves a turn running does not wait for it. With options, which
 * no setting can give, it is the library of the package in this process.
 */
export async function openTestService(environment: Record<string, string> = {}, options?: LibraryOptions) {
  const real = environment["DATABASE_URL"] || environment["DATA_DIR"] ? undefined : await createRealDatabase();
  const settings = {
    PORT: "0",
    SHUTDOWN_GRACE_MS: "1000",
    ENABLE_EPISODIC_MEMORY: "false",
    ENABLE_CORE_MEMORY: "false",
    ...NO_LIMITS,
    ...(real ? { DATABASE_URL: real.url } : {}),
    ...environment,
  };
  const service = await (options ? serveLibrary(settings, options) : serveProcess(settings));
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
