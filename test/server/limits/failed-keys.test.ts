import { describe, expect, test } from "@jest/globals";
import { makeFailedKeys, MOST_FAILURES, type FailedKeys } from "../../../server/auth/failed-keys.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService } from "../../support/services/service.ts";
import { JWT_SECRET, tokenOf } from "../../hard/tenants/tenant-world.ts";

async function failOften(keys: FailedKeys, address: string, times = MOST_FAILURES): Promise<void> {
  for (let count = 0; count < times; count++) await keys.failed(address);
}

describe("wrong keys", () => {
  test("are counted for their address alone", async () => {
    const keys = makeFailedKeys();
    await failOften(keys, "10.0.0.1", MOST_FAILURES - 1);
    await expect(keys.assertMayTry("10.0.0.1", "key")).resolves.toBeUndefined();
    await keys.failed("10.0.0.1");
    await expect(keys.assertMayTry("10.0.0.1", "key")).rejects.toMatchObject({ code: "rate_limited" });
    for (const other of ["10.0.0.2", "10.0.0.10", "::1", ""]) await expect(keys.assertMayTry(other, "key")).resolves.toBeUndefined();
  });

  test("of one network of IPv6 are of one client, those of another are not", async () => {
    const keys = makeFailedKeys();
    for (let count = 0; count < MOST_FAILURES; count++) await keys.failed(`2001:db8:0:1::${count.toString(16)}`);
    for (const same of ["2001:db8:0:1::ffff", "2001:db8:0:1:a:b:c:d", "2001:db8::1:0:0:0:1"]) {
      await expect(keys.assertMayTry(same, "key")).rejects.toMatchObject({ code: "rate_limited" });
    }
    for (const other of ["2001:db8:0:2::1", "2001:db8::1", "::ffff:10.0.0.1"]) {
      await expect(keys.assertMayTry(other, "key")).resolves.toBeUndefined();
    }
  });

  test("do not keep out a key that was right before from the same address", async () => {
    const keys = makeFailedKeys();
    keys.worked("10.0.0.1", "right");
    await failOften(keys, "10.0.0.1", MOST_FAILURES + 10);
    await expect(keys.assertMayTry("10.0.0.1", "right")).resolves.toBeUndefined();
    await expect(keys.assertMayTry("10.0.0.1", "another")).rejects.toMatchObject({ code: "rate_limited" });
    await failOften(keys, "10.0.0.2");
    await expect(keys.assertMayTry("10.0.0.2", "right")).rejects.toMatchObject({ code: "rate_limited" });
  });
});

test("an address with too many wrong keys is refused, right or wrong, with the time to wait; who was in stays in", async () => {
  const service = await openTestService({
    API_KEYS: "key-in-use:acme,key-guessed:acme",
    JWT_SECRET,
    JWT_TENANT_CLAIM: "tenant",
  });
  const ask = (headers: Record<string, string>) => callApi(`${service.url}/api/v1/conversations?user_id=ada`, { headers });
  const withKey = (key: string) => ask({ authorization: `Bearer ${key}` });
  expect((await withKey("key-in-use")).status).toBe(200);
  for (let count = 0; count < MOST_FAILURES; count++) expect((await withKey(`wrong-${count}`)).status).toBe(401);
  for (const key of ["one-more", "key-guessed"]) {
    const refused = await withKey(key);
    expectRefusal(refused, { status: 429, code: "rate_limited", says: /wrong keys/ });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect((await withKey("key-in-use")).status).toBe(200);
  expect((await ask(tokenOf("acme", "ada"))).status).toBe(200);
  expect((await ask({})).status).toBe(401);
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  await service.close();
});
