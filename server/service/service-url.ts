import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { IN_MEMORY } from "../../stores/postgres/database/open-embedded-postgres.ts";
import type { Config } from "../settings/config.ts";

/** In DATA_DIR: where commands find the service that has the embedded database. */
export const SERVICE_URL_FILE = "service-url";

/** An address of this machine for a service that listens on all. */
export const reachable = (url: string): string => url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");

/** Returns what removes it. */
export async function writeServiceUrl({ DATABASE_URL, DATA_DIR }: Config, url: string): Promise<() => Promise<void>> {
  if (DATABASE_URL !== undefined || DATA_DIR.startsWith(IN_MEMORY)) return async () => undefined;
  const file = path.join(DATA_DIR, SERVICE_URL_FILE);
  await writeFile(file, reachable(url));
  return () => rm(file, { force: true });
}
