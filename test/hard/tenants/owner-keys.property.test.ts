import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { checkOwnerKey, knowledgeKey, ownerKey } from "../../../stores/index-keys.ts";
import { ownerJobKey } from "../../../stores/jobs/job.ts";
import { ownerLock } from "../../../stores/postgres/paths/locks.ts";

const PIECES = [..."aA\u0430/:|,.-_%\\\"'[]\u0001 \u00e9\u200f", "e\u0301", "knowledge"];
const id = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join("")),
  fc.string({ unit: "binary", minLength: 1, maxLength: 200 }),
);
const pair = fc.tuple(id, id);
const isSame = (one: readonly string[], other: readonly string[]): boolean => JSON.stringify(one) === JSON.stringify(other);

test("any two pairs of tenant and user share a key, a job and a lock only if they are the same pair", () => {
  fc.assert(
    fc.property(pair, pair, ([tenant, user], [otherTenant, otherUser]) => {
      const same = isSame([tenant, user], [otherTenant, otherUser]);
      const [owner, other] = [
        { tenantId: tenant, userId: user },
        { tenantId: otherTenant, userId: otherUser },
      ];
      expect(ownerKey(tenant, user) === ownerKey(otherTenant, otherUser)).toBe(same);
      expect(knowledgeKey(tenant, user) === knowledgeKey(otherTenant, otherUser)).toBe(same);
      expect(ownerJobKey(owner) === ownerJobKey(other)).toBe(same);
      expect(ownerLock(owner) === ownerLock(other)).toBe(same);
    }),
    { numRuns: 5_000 },
  );
});

test("two pairs have different keys when the same characters are cut elsewhere", () => {
  fc.assert(
    fc.property(id, id, id, (one, two, three) => {
      const keys = [ownerKey(one + two, three), ownerKey(one, two + three)];
      expect(new Set(keys).size).toBe(2);
      expect(ownerKey(one, two)).not.toBe(ownerKey(two + one, two));
    }),
    { numRuns: 2_000 },
  );
});

test("the keys of users, tenants and knowledge bases always differ, and each can stand in a filter", () => {
  fc.assert(
    fc.property(pair, pair, ([tenant, user], [otherTenant, prefix]) => {
      const keys = [ownerKey(tenant, user), ownerKey(tenant), knowledgeKey(otherTenant, prefix)];
      expect(new Set(keys).size).toBe(3);
      for (const key of keys) expect(checkOwnerKey(key)).toBe(key);
      expect(knowledgeKey(tenant, user)).not.toBe(ownerKey(JSON.stringify(["knowledge", tenant, user])));
    }),
    { numRuns: 2_000 },
  );
});
