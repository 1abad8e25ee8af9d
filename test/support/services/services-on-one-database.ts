import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { createRealDatabase } from "../databases/databases.ts";
import { openTestService, type TestService } from "./service.ts";

/** Two services, as of two processes, on one database and one model server. */
export interface ServicesOnOneDatabase {
  model: ModelServer;
  databaseUrl: string;
  /** What a further service or process needs to join them. */
  environment: Record<string, string>;
  here: TestService;
  there: TestService;
  both: [TestService, TestService];
  close(): Promise<void>;
}

export async function openServicesOnOneDatabase(settings: Record<string, string> = {}): Promise<ServicesOnOneDatabase> {
  const [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
  const environment = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, ...settings };
  const both = await Promise.all([openTestService(environment), openTestService(environment)]);
  const [here, there] = both;
  return {
    ...{ model, databaseUrl: database.url, environment, here, there, both },
    async close() {
      await Promise.all([here.close(), there.close()]);
      await model.close();
      await database.drop();
    },
  };
}
