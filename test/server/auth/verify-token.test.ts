import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { exportSPKI } from "jose";
import { AppError } from "../../../errors/app-error.ts";
import { makePublishedKeys, makeVerifyToken, type VerifyToken } from "../../../server/auth/verify-token.ts";
import { callApi, listConversations, postJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService } from "../../support/services/service.ts";
import {
  bearer,
  type Claims,
  JWT_SECRET,
  makeSigningKey,
  secretToken,
  type SigningKey,
  signToken,
  startTokenIssuer,
  type TokenIssuer,
  tokenPart,
} from "../../servers/token-issuer.ts";
import { waitUntil } from "../../support/wait-until.ts";

const ISSUER = "https://login.example.org/";
const AUDIENCE = "conversation-graph";
const CLAIMS = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_USER_CLAIM: "https://example.org/user", JWT_TENANT_CLAIM: "org" };
const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;

function required(verify: VerifyToken | undefined): VerifyToken {
  if (!verify) throw new Error("nothing is configured");
  return verify;
}
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "taken",
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

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

  const makeVerify = (config: object = {}) =>
    required(makeVerifyToken({ JWT_JWKS_URL: issuer.url, JWT_USER_CLAIM: "sub", ...config }, (error) => failures.push(error)));
  const claims = (changed: Claims = {}): Claims => ({
    iss: ISSUER,
    aud: AUDIENCE,
    org: "acme",
    "https://example.org/user": "ada",
    ...changed,
  });
  async function expectRefused(token: string, says = /none that this service can verify/): Promise<void> {
    const refused = await makeVerify(CLAIMS)(token).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "unauthorized", message: expect.stringMatching(says) });
    for (const secret of [ISSUER, AUDIENCE, issuer.url, ...token.split(".").filter((one) => one.length > 8)])
      expect((refused as AppError).message).not.toContain(secret);
  }

  test("verify a token that names user and tenant, even when the clocks differ by seconds", async () => {
    for (const times of [{}, { exp: secondsFromNow(-5), nbf: secondsFromNow(5) }]) {
      const caller = await makeVerify(CLAIMS)(await signToken(key, claims(times)));
      expect(caller).toEqual({ tenantId: "acme", userId: "ada", scope: "write", everyTenant: false });
    }
  });

  test.each<[name: string, claims: Claims, says: RegExp]>([
    ["has expired", { exp: secondsFromNow(-120) }, /expired/],
    ["never expires", { exp: undefined }, /"exp" is missing/],
    ["is not valid yet", { nbf: secondsFromNow(120) }, /"nbf"/],
    ["is of another issuer", { iss: "https://login.example.com/" }, /"iss"/],
    ["names no issuer", { iss: undefined }, /"iss" is missing/],
    ["is for another service", { aud: "somebody-else" }, /"aud"/],
    ["is for nobody", { aud: undefined }, /"aud" is missing/],
    ["names no user", { "https://example.org/user": undefined, sub: "ada" }, /"https:\/\/example.org\/user" is missing/],
    ["names a number as its user", { "https://example.org/user": 7 }, /is not a string/],
    ["names a user of no characters", { "https://example.org/user": "" }, /is no user id: it must have 1 to 200/],
    ["names a user of too many characters", { "https://example.org/user": "x".repeat(201) }, /is no user id: it must have 1 to 200/],
    ["names a user that cannot be stored", { "https://example.org/user": "a\0b" }, /is no user id: it holds a NUL/],
    ["names no tenant", { org: undefined }, /"org" is missing/],
    ["names an impossible tenant", { org: "acme corp" }, /"org" is no tenant/],
    ["has a scope that cannot be read", { scope: 7 }, /"scope" is neither/],
  ])("refuse a token that %s", async (_name, changed, says) => expectRefused(await signToken(key, claims(changed)), says));

  test("refuse a token that claims to need no signature, has a wrong one or brings its own key", async () => {
    const own = await makeSigningKey("first");
    const ownToken = await signToken(own, claims());
    const [header, payload, signature] = (await signToken(key, claims())).split(".") as [string, string, string];
    const forged = tokenPart({ ...claims({ "https://example.org/user": "eve" }), exp: secondsFromNow(300) });
    const unsigned = ["none", "None", "NONE", "", "RS257"].flatMap((alg) => [
      `${tokenPart({ alg })}.${forged}.`,
      `${tokenPart({ alg, kid: "first" })}.${forged}.${signature}`,
    ]);
    const selfSigned = [{ jwk: own.published }, { jku: issuer.url }, { kid: "../first" }, { crit: ["x"], x: 1 }, {}].map((more) => {
      const named = tokenPart({ alg: "RS256", kid: "first", ...more });
      return `${named}.${tokenPart({ ...claims(), exp: secondsFromNow(300) })}.${ownToken.split(".")[2]}`;
    });
    const changed = [`${header}.${forged}.${signature}`, `${header}.${payload}.`, `${header}.${payload}.${signature.slice(0, -4)}AAAA`];
    for (const token of [...unsigned, ...selfSigned, ...changed, ownToken]) await expectRefused(token);
  });

  test("refuse a token that was signed with the published key as a shared secret", async () => {
    const spki = await exportSPKI(key.publicKey);
    for (const secret of [spki, spki.trimEnd(), JSON.stringify(key.published), key.published.n ?? ""])
      for (const alg of ["HS256", "HS512"]) await expectRefused(secretToken(claims(), { alg, secret, header: { kid: "first" } }));
  });

  test("of every kind verify tokens, and are fetched only once for many tokens at the same time", async () => {
    const keys = [key, ...(await Promise.all(["PS256", "ES256", "EdDSA"].map((alg) => makeSigningKey(`of-${alg}`, alg))))];
    issuer.publish(...keys);
    const verify = makeVerify();
    const tokens = await Promise.all([...keys, ...keys].map((one) => signToken(one, { sub: "ada" })));
    await Promise.all(tokens.map(verify));
    await verify(tokens[0] ?? "");
    expect(issuer.asked()).toBe(1);
  });

  test("that are known still work while their server is down, and unknown ones give 503", async () => {
    const verify = makeVerify();
    const known = await signToken(key, { sub: "ada" });
    await verify(known);
    await issuer.close();
    expect(await codeOf(verify(known))).toBe("taken");
    const fresh = makeVerify();
    const codes = await Promise.all(Array.from({ length: 20 }, async () => codeOf(fresh(await signToken(key, { sub: "ada" })))));
    expect(new Set(codes)).toEqual(new Set(["identity_unavailable"]));
  });

  test.each(["fails", "nonsense", "hangs"] as const)(
    "are awaited only for a limited time when their server misbehaves (%s), and work when it is back",
    async (how) => {
      const verify = makeVerify();
      const token = await signToken(key, { sub: "ada" });
      issuer.behave(how);
      expect(await codeOf(verify(token))).toBe("identity_unavailable");
      issuer.behave("well");
      await waitUntil("the token is taken", async () => (await codeOf(verify(token))) === "taken");
    },
  );

  test("are not fetched again for each unknown key id", async () => {
    const verify = makeVerify();
    await verify(await signToken(key, { sub: "ada" }));
    for (let number = 0; number < 20; number += 1)
      expect(await codeOf(verify(await signToken({ ...key, kid: `made-up-${number}` }, { sub: "ada" })))).toBe("unauthorized");
    expect(issuer.asked()).toBeLessThan(5);
  });

  test("are found when they are new, and stop working some time after they are withdrawn", async () => {
    const next = await makeSigningKey("second");
    const keys = makePublishedKeys(new URL(issuer.url), { onError: (error) => failures.push(error), refreshMs: 0 });
    const find = ({ kid, alg }: SigningKey) => keys({ kid, alg }, { payload: "", signature: "" });
    await find(key);
    issuer.publish(next);
    await waitUntil("the new one", async () => (await codeOf(Promise.resolve(find(next)))) === "taken");
    expect(await codeOf(Promise.resolve(find(key)))).toMatch(/no applicable key/i);
    expect(failures).toEqual([]);
    issuer.behave("fails");
    await waitUntil("a failed refresh is reported", async () => {
      await find(next);
      return failures.length > 0;
    });
  });

  test("let a token over HTTP act as its tenant's user beside API keys, and give a 503 without an address while they are missing", async () => {
    const environment = { API_KEYS: "key-of-acme:acme", JWT_JWKS_URL: issuer.url, JWT_TENANT_CLAIM: "org" };
    const service = await openTestService(environment);
    const headers = bearer(await signToken(key, { sub: "ada", org: "acme" }));
    issuer.behave("fails");
    const answer = await callApi(`${service.url}/api/v1/conversations`, { headers });
    expectRefusal(answer, { status: 503, code: "identity_unavailable", says: /JWT_JWKS_URL/ });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.text).not.toContain("127.0.0.1");
    issuer.behave("well");
    const say = () => postJson<{ conversation_id: string }>(`${service.url}/api/v1/chat`, { session_id: "s", message: "hi" }, headers);
    const turn = await waitUntil("the token is taken", async () => {
      const said = await say();
      return said.status === 200 && said.json;
    });
    const seen = await listConversations(service.url, "ada", bearer("key-of-acme"));
    expect(seen.map(({ id }) => id)).toEqual([turn.conversation_id]);
    await service.close();
  });
});

describe("JWT_SECRET", () => {
  const verify = required(makeVerifyToken({ JWT_SECRET, JWT_USER_CLAIM: "sub" }, () => undefined));

  test.each(["HS256", "HS384", "HS512"])('verifies a token of %s, whose "sub" is its user in the tenant "default"', async (alg) => {
    const caller = { tenantId: "default", userId: "ada", scope: "write", everyTenant: false };
    expect(await verify(secretToken({ sub: "ada" }, { alg }))).toEqual(caller);
  });

  test("verifies no token that was signed with another secret or with a private key", async () => {
    const foreign = await signToken(await makeSigningKey("first"), { sub: "ada" });
    for (const token of [secretToken({ sub: "ada" }, { secret: "another secret of more than thirty-two" }), foreign])
      await expect(verify(token)).rejects.toMatchObject({ code: "unauthorized" });
  });

  test.each<[name: string, claims: Claims, scope: "read" | "write" | "admin"]>([
    ["no scope", {}, "write"],
    ["scopes of others", { scope: "openid profile" }, "write"],
    ["read", { scope: "openid read" }, "read"],
    ["read in scp", { scp: ["read"] }, "read"],
    ["read in scopes", { scopes: "read" }, "read"],
    ["read and write", { scope: "read write" }, "write"],
    ["admin", { scope: "read admin" }, "admin"],
    ["admin beside another claim", { scope: "read", scopes: ["admin"] }, "admin"],
    ["a word that only begins like admin", { scope: "administrator admin:none" }, "write"],
    ["ADMIN", { scope: "ADMIN" }, "write"],
  ])("gives a token with %s in the claims %j the scope %s, and lets only an admin act for every user", async (_name, claims, scope) => {
    expect(await verify(secretToken({ sub: "sam", ...claims }))).toMatchObject({ scope, userId: scope === "admin" ? null : "sam" });
  });
});
