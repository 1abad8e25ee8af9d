import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makePublishedKeys, makeVerifyToken } from "../../../server/auth/verify-token.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService } from "../../support/services/service.ts";
import { makeSigningKey, type SigningKey, signToken, startTokenIssuer, type TokenIssuer } from "../../servers/token-issuer.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("published keys", () => {
  let key: SigningKey;
  let issuer: TokenIssuer;
  let failures: unknown[];
  beforeEach(async () => {
    key = await makeSigningKey("first");
    issuer = await startTokenIssuer(key);
    failures = [];
  });
  afterEach(() => issuer.close());

  const makeVerify = () => {
    const verify = makeVerifyToken({ JWT_JWKS_URL: issuer.url, JWT_USER_CLAIM: "sub" }, (error) => failures.push(error));
    if (!verify) throw new Error("nothing is configured");
    return verify;
  };
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "taken",
      (error: unknown) => (error instanceof AppError ? error.code : String(error)),
    );

  test("are asked for once, by however many tokens at once", async () => {
    const verify = makeVerify();
    const token = await signToken(key, { sub: "ada" });
    await Promise.all(Array.from({ length: 20 }, () => verify(token)));
    await verify(token);
    expect(issuer.asked()).toBe(1);
  });

  test("that are known serve on while their server is down; of others the answer is 503", async () => {
    const verify = makeVerify();
    const known = await signToken(key, { sub: "ada" });
    await verify(known);
    await issuer.close();
    expect(await codeOf(verify(known))).toBe("taken");
    const fresh = makeVerify();
    expect(await codeOf(fresh(known))).toBe("identity_unavailable");
  });

  test.each(["fails", "nonsense", "hangs"] as const)(
    "of a server that %s are waited for a bounded time, and taken when it is back",
    async (how) => {
      const verify = makeVerify();
      const token = await signToken(key, { sub: "ada" });
      issuer.behave(how);
      expect(await codeOf(verify(token))).toBe("identity_unavailable");
      issuer.behave("well");
      await waitUntil("the token is taken", async () => (await codeOf(verify(token))) === "taken");
    },
  );

  test("that are unknown cost the server no question each", async () => {
    const verify = makeVerify();
    await verify(await signToken(key, { sub: "ada" }));
    for (let number = 0; number < 20; number += 1) {
      expect(await codeOf(verify(await signToken({ ...key, kid: `made-up-${number}` }, { sub: "ada" })))).toBe("unauthorized");
    }
    expect(issuer.asked()).toBeLessThan(5);
    await issuer.close();
    const fresh = makeVerify();
    const codes = await Promise.all(Array.from({ length: 20 }, async () => codeOf(fresh(await signToken(key, { sub: "ada" })))));
    expect(new Set(codes)).toEqual(new Set(["identity_unavailable"]));
  });

  test("that are new are found, and those that are withdrawn serve no longer once they were refreshed", async () => {
    const next = await makeSigningKey("second");
    const keys = makePublishedKeys(new URL(issuer.url), { onError: (error) => failures.push(error), refreshMs: 0 });
    const find = ({ kid, alg }: SigningKey) => keys({ kid, alg }, { payload: "", signature: "" });
    await find(key);
    issuer.publish(next);
    await waitUntil("the new one", async () => (await codeOf(Promise.resolve(find(next)))) === "taken");
    expect(await codeOf(Promise.resolve(find(key)))).toMatch(/no applicable key/i);
    expect(failures).toEqual([]);
    issuer.behave("fails");
    await waitUntil("a failed refresh is told", async () => {
      await find(next);
      return failures.length > 0;
    });
  });

  test("that cannot be asked for are a 503 with Retry-After that names no address", async () => {
    const service = await openTestService({ JWT_JWKS_URL: issuer.url });
    issuer.behave("fails");
    const headers = { authorization: `Bearer ${await signToken(key, { sub: "ada" })}` };
    const answer = await callApi(`${service.url}/api/v1/conversations`, { headers });
    expectRefusal(answer, { status: 503, code: "identity_unavailable", says: /JWT_JWKS_URL/ });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.text).not.toContain("127.0.0.1");
    await service.close();
  });
});
