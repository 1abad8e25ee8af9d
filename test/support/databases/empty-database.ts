import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { withDatabase } from "../../servers/database-url.ts";
import { createRealDatabase } from "./databases.ts";

/** A new database on the real Postgres without any migration, as a URL; `drop` removes it. */
export async function createEmptyDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const { url, drop } = await createRealDatabase();
  const name = new URL(url).pathname.slice(1);
  const server = await openPostgres(withDatabase(url, "postgres"));
  try {
    await server.query({ text: `drop database ${name}` });
    await server.query({ text: `create database ${name} template template0` });
  } finally {
    await server.close();
  }
  return { url, drop };
}
