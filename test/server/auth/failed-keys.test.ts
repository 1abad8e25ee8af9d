import { beforeEach, describe, expect, test } from "@jest/globals";
import { makeFailedKeys, MOST_FAILURES } from "../../../server/auth/failed-keys.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService } from "../../support/services/service.ts";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";

describe("wrong keys", () => {
  let keys: ReturnType<typeof makeFailedKeys>;
  beforeEach(() => {
    keys = makeFailedKeys();
  });
  async function fail(times: number, addressOf: (count: number) => string): Promise<void> {
    for (let count = 0; count < times; count++) await keys.failed(addressOf(count));
  }
  const expectOpen = (address: string, key = "key") => expect(keys.assertMayTry(address, key)).resolves.toBeUndefined();
  const expectClosed = (address: string, key = "key") =>
    expect(keys.assertMayTry(address, key)).rejects.toMatchObject({ code: "rate_limited" });

  test("are counted for their address alone", async () => {
    await fail(MOST_FAILURES - 1, () => "10.0.0.1");
    await expectOpen("10.0.0.1");
    await keys.failed("10.0.0.1");
    await expectClosed("10.0.0.1");
    for (const other of ["10.0.0.2", "10.0.0.10", "::1", ""]) await expectOpen(other);
  });

  test("of one network of IPv6 are of one client, those of another are not", async () => {
    await fail(MOST_FAILURES, (count) => `2001:db8:0:1::${count.toString(16)}`);
    for (const same of ["2001:db8:0:1::ffff", "2001:db8:0:1:a:b:c:d", "2001:db8::1:0:0:0:1"]) await expectClosed(same);
    for (const other of ["2001:db8:0:2::1", "2001:db8::1", "::ffff:10.0.0.1"]) await expectOpen(other);
  });

  test("do not keep out a key that was right before from the same address", async () => {
    keys.worked("10.0.0.1", "right");
    await fail(MOST_FAILURES + 10, () => "10.0.0.1");
    await expectOpen("10.0.0.1", "right");
    await expectClosed("10.0.0.1", "another");
    await fail(MOST_FAILURES, () => "10.0.0.2");
    await expectClosed("10.0.0.2", "right");
  });
});

test("an address with too many wrong keys is refused, right or wrong, with the time to wait; who was in stays in", async () => {
  const service = await openTestService({ API_KEYS: "key-in-use:acme,key-guessed:acme", JWT_SECRET, JWT_TENANT_CLAIM: "tenant" });
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
  expect((await ask(bearer(secretToken({ sub: "ada", tenant: "acme" })))).status).toBe(200);
  expect((await ask({})).status).toBe(401);
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  await service.close();
});
