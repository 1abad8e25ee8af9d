import { z } from "zod";

export interface ApiKey {
  key: string;
  tenantId: string;
  scope: Scope;
}

/** The least characters of a key on a HOST that other machines can reach. */
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

/** What a caller may do; each scope includes those before it. */
export const SCOPES = ["read", "write", "admin"] as const;

export type Scope = (typeof SCOPES)[number];

export const TENANT_ID = /^[\w.-]{1,64}$/;
