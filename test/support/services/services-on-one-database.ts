import { startModelServer } from "../../servers/model-server.ts";
import { createRealDatabase } from "../databases/databases.ts";
import { openTestService } from "./service.ts";
import { useOpened } from "../use-opened.ts";

export type ServicesOnOneDatabase = Awaited<ReturnType<typeof openServicesOnOneDatabase>>;

/** Two services, as of two processes, on one database and one model server; with `environment` a further one joins them. */
export async function openServicesOnOneDatabase(settings: Record<string, string> = {}) {
  const [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
  const environment = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, ...settings };
  const both = await Promise.all([openTestService(environment), openTestService(environment)]);
  const [here, there] = both;
  return {
    model,
    databaseUrl: database.url,
    environment,
    here,
    there,
    both,
    async close(): Promise<void> {
      await Promise.all([here.close(), there.close()]);
      await model.close();
      await database.drop();
    },
  };
}

export const useServicesOnOneDatabase = (...given: Parameters<typeof openServicesOnOneDatabase>) =>
  useOpened(() => openServicesOnOneDatabase(...given));
