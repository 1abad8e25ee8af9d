import { killServiceProcesses } from "../../servers/service-process.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";

/** An empty database for each of several runs, one behind the other. Its processes end with it. */
export async function openDatabases(count: number) {
  const databases = await Promise.all(Array.from({ length: count }, createRealDatabase));
  const urls = databases.map(({ url }) => url);
  return {
    next: (): string => urls.shift() ?? "no database is left",
    async close(): Promise<void> {
      await killServiceProcesses();
      for (const { drop } of databases) await drop();
    },
  };
}
