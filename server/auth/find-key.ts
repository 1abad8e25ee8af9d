import { createHash, timingSafeEqual } from "node:crypto";
import type { Caller } from "./caller.ts";
import type { ApiKey } from "../settings/api-keys.ts";

export const digest = (key: string): Buffer => createHash("sha256").update(key).digest();

/** Finds the caller of a key's hash. It compares every hash, so that the time reveals nothing. */
export function makeFindKey(apiKeys: readonly ApiKey[]): (given: Buffer) => Caller | undefined {
  const known = apiKeys.map(({ key, tenantId, scope }) => {
    const caller: Caller = { tenantId, userId: null, scope, everyTenant: scope === "admin" };
    return { hash: digest(key), caller };
  });
  return function findKey(given) {
    return known.filter(({ hash }) => timingSafeEqual(hash, given))[0]?.caller;
  };
}
