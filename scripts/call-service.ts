import { readFile } from "node:fs/promises";
import path from "node:path";
import { AppError } from "../errors/app-error.ts";
import { ANYBODY } from "../server/auth/caller.ts";
import { SCOPES } from "../server/settings/api-keys.ts";
import { type Config, parseConfig, readEnvironment } from "../server/settings/config.ts";
import { reachable, SERVICE_URL_FILE } from "../server/service/service-url.ts";
import { isFolderInUse } from "../stores/postgres/database/data-folder-lock.ts";

export interface RunningService {
  url: string;
  key: string | undefined;
}

export const SERVICE_OPTIONS = {
  url: { type: "string", default: `http://127.0.0.1:${process.env["PORT"] ?? "8000"}` },
  key: { type: "string" },
} as const;

/** Throws AppError when the service does not answer or refuses. */
export async function callService({ url, key }: RunningService, address: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
  const response = await fetch(url + address, { ...init, headers }).catch((cause: unknown) => {
    throw new AppError("storage_unavailable", `${url} does not answer. Start the service with npm start.`, { cause });
  });
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: { code: string; message: string } };
  throw new AppError("invalid_request", error ? `${error.code}: ${error.message}` : `${url} answers with status ${response.status}.`);
}

/** The strongest key of a tenant, or of any; undefined without keys. Throws AppError `invalid_configuration`. */
export function keyOf({ API_KEYS }: Pick<Config, "API_KEYS">, url: string, tenantId?: string): string | undefined {
  const keys = API_KEYS?.filter((each) => tenantId === undefined || each.tenantId === tenantId);
  if (keys?.length === 0 || (keys === undefined && tenantId !== undefined && tenantId !== ANYBODY.tenantId)) {
    const problem = `The service at ${url} has the database, and API_KEYS has no key of the tenant "${tenantId ?? ""}". Stop the service and run this again.`;
    throw new AppError("invalid_configuration", problem);
  }
  return keys?.toSorted((one, other) => SCOPES.indexOf(other.scope) - SCOPES.indexOf(one.scope))[0]?.key;
}

/** The service that holds the embedded database, if that is why it cannot be opened, with a key of the tenant. Else throws the error. */
export async function serviceBehind(error: unknown, config: Config, tenantId?: string): Promise<RunningService> {
  const file = path.join(config.DATA_DIR, SERVICE_URL_FILE);
  const url = isFolderInUse(error) ? await readFile(file, "utf8").catch(() => null) : null;
  if (url === null) throw error;
  return { url, key: keyOf(config, url, tenantId) };
}

/**
 * The service at an address, with its key; by default this environment's, with its strongest key. Throws AppError `invalid_configuration`.
 */
export async function findService({ url, key }: { url?: string | undefined; key?: string | undefined }): Promise<RunningService> {
  if (url !== undefined) return { url, key };
  const config = parseConfig(readEnvironment());
  const { DATABASE_URL, DATA_DIR, HOST, PORT } = config;
  const written = DATABASE_URL === undefined ? await readFile(path.join(DATA_DIR, SERVICE_URL_FILE), "utf8").catch(() => null) : null;
  const here = written ?? reachable(`http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${PORT}`);
  return { url: here, key: key ?? keyOf(config, here) };
}

export const userAddress = (userId: string, what: string): string => `/api/v1/users/${encodeURIComponent(userId)}/${what}`;
