import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { type Caller, type Scope, SCOPES, TENANT_ID } from "./caller.ts";

export interface ApiKey {
  key: string;
  tenantId: string;
  scope: Scope;
}

/** Characters of a key on a HOST that other machines can reach, at least. */
export const SHORTEST_REACHABLE_KEY = 8;
/** Visible ASCII: a header carries it unchanged. */
const KEY = /^[\x21-\x7e]+$/;
const EXPECTED =
  "must be key:tenant pairs joined by commas, keys of ASCII characters, tenants of at most 64 letters, digits, dots, dashes and " +
  "underscores; key:tenant:read only reads, key:tenant:admin also sees the jobs of other tenants";

const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** Parses API_KEYS. Errors show no key. */
export const apiKeys = z.string().transform((text, context): ApiKey[] => {
  const keys = text.split(",").flatMap((entry): ApiKey[] => {
    const [key = "", tenantId = "", scope = "write", ...rest] = entry.trim().split(":");
    if (KEY.test(key) && TENANT_ID.test(tenantId) && isScope(scope) && rest.length === 0) return [{ key, tenantId, scope }];
    context.addIssue({ code: "custom", message: EXPECTED });
    return [];
  });
  if (new Set(keys.map(({ key }) => key)).size < keys.length) {
    context.addIssue({ code: "custom", message: "has the same key twice; give every tenant and scope keys of its own" });
  }
  return keys;
});

export const digest = (key: string): Buffer => createHash("sha256").update(key).digest();

/** Finds the caller of a key's hash. Every hash is compared, so that the time taken reveals nothing. */
export function makeFindKey(apiKeys: readonly ApiKey[]): (given: Buffer) => Caller | undefined {
  const known = apiKeys.map(({ key, tenantId, scope }) => {
    const caller: Caller = { tenantId, userId: null, scope, everyTenant: scope === "admin" };
    return { hash: digest(key), caller };
  });
  return function findKey(given) {
    return known.filter(({ hash }) => timingSafeEqual(hash, given))[0]?.caller;
  };
}
