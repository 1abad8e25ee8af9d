import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { parseConfig } from "../../../server/start/config.ts";

/** The error of keys that must be refused. */
function refusalOf(API_KEYS: string): AppError {
  try {
    parseConfig({ API_KEYS });
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("the keys were taken");
}

const fieldsOf = (error: AppError): string[] => (error.details ?? []).map(({ field }) => field);

describe("API_KEYS", () => {
  test("is a list of keys, each with its tenant and, unless it may write, its scope", () => {
    expect(
      parseConfig({ API_KEYS: "first-key:acme, second-key:acme:read,third+key/=:b.c-d_e:admin,fourth-key:acme:write" }).API_KEYS,
    ).toEqual([
      { key: "first-key", tenantId: "acme", scope: "write" },
      { key: "second-key", tenantId: "acme", scope: "read" },
      { key: "third+key/=", tenantId: "b.c-d_e", scope: "admin" },
      { key: "fourth-key", tenantId: "acme", scope: "write" },
    ]);
  });

  test.each([
    ...["no-tenant-here", "empty-tenant:", ":acme", "three:parts:here", "long-enough:a b", "long-enough:acme,", ","],
    ...["long-enough:acme:", "long-enough:acme:READ", "long-enough:acme:owner", "long-enough:acme:read:write", "long-enough::read"],
    ...["with a space:acme", "schlüsselwort:acme"],
  ])("is refused when an entry is wrong: %p", (API_KEYS) => {
    const refusal = refusalOf(API_KEYS);
    expect(new Set(fieldsOf(refusal))).toEqual(new Set(["API_KEYS"]));
    expect(refusal.message).toContain("key:tenant");
  });

  test("may hold a short key only where no other machine can send it", () => {
    expect(parseConfig({ API_KEYS: "key-a:acme" }).API_KEYS).toEqual([{ key: "key-a", tenantId: "acme", scope: "write" }]);
    expect(() => parseConfig({ HOST: "0.0.0.0", API_KEYS: "long-enough:acme,key-abc:acme" })).toThrow(
      /API_KEYS: has a key of fewer than 8/,
    );
    expect(parseConfig({ HOST: "0.0.0.0", API_KEYS: "key-abcd:acme" }).HOST).toBe("0.0.0.0");
  });

  test("is refused when two entries have the same key: which of them counts would be a guess", () => {
    const refusal = refusalOf("same-key-here:acme,other-key:acme:read,same-key-here:acme:read");
    expect(fieldsOf(refusal)).toEqual(["API_KEYS"]);
    expect(refusal.message).toContain("the same key twice");
    expect(refusal.message).not.toContain("same-key-here");
  });
});
