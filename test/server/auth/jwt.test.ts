import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { exportSPKI } from "jose";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, listConversations, postJson, type ApiResponse, type ErrorBody } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { makeSigningKey, signToken, startTokenIssuer, type Claims, type SigningKey, type TokenIssuer } from "../../servers/token-issuer.ts";

const ISSUER = "https://login.example.org/";
const AUDIENCE = "conversation-graph";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("with JWT_JWKS_URL", () => {
  let key: SigningKey;
  let issuer: TokenIssuer;
  let service: TestService;
  beforeAll(async () => {
    key = await makeSigningKey("first");
    issuer = await startTokenIssuer(key);
    service = await openTestService({
      API_KEYS: "key-of-acme:acme",
      JWT_JWKS_URL: issuer.url,
      JWT_ISSUER: ISSUER,
      JWT_AUDIENCE: AUDIENCE,
      JWT_USER_CLAIM: "https://example.org/user",
      JWT_TENANT_CLAIM: "org",
    });
  });
  afterAll(async () => {
    await service.close();
    await issuer.close();
  });

  const claims = (changed: Claims = {}): Claims => {
    return { iss: ISSUER, aud: AUDIENCE, org: "acme", "https://example.org/user": "ada", ...changed };
  };
  const tokenOf = (changed: Claims = {}, by = key): Promise<string> => signToken(by, claims(changed));
  const ask = (token: string): Promise<ApiResponse<ErrorBody>> =>
    callApi(`${service.url}/api/v1/conversations`, { headers: bearer(token) });
  async function expectUnauthorized(token: string, says: RegExp): Promise<void> {
    const answer = await ask(token);
    expectRefusal(answer, { status: 401, code: "unauthorized", says });
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    for (const secret of [ISSUER, AUDIENCE, issuer.url, ...token.split(".").filter((one) => one.length > 8)])
      expect(answer.text).not.toContain(secret);
  }

  test("a token names the user and the tenant, and a key of that tenant sees what it wrote", async () => {
    const turn = await postJson<TurnResult>(`${service.url}/api/v1/chat`, { session_id: "s", message: "hi" }, bearer(await tokenOf()));
    expect(turn.status).toBe(200);
    const seen = await listConversations(service.url, "ada", bearer("key-of-acme"));
    expect(seen.map(({ id }) => id)).toEqual([turn.json.conversation_id]);
    expect(await listConversations(service.url, "ada", bearer(await tokenOf({ org: "bolt" })))).toEqual([]);
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
  ])("a token that %s is refused", async (_name, changed, says) => {
    await expectUnauthorized(await tokenOf(changed), says);
  });

  test("a clock that differs by seconds is forgiven", async () => {
    expect((await ask(await tokenOf({ exp: secondsFromNow(-5), nbf: secondsFromNow(5) }))).status).toBe(200);
  });

  test("a token that says it needs no signature, or none that fits, is refused", async () => {
    const [header, payload, signature] = (await tokenOf()).split(".") as [string, string, string];
    const forged = part({ ...claims({ "https://example.org/user": "eve" }), exp: secondsFromNow(300) });
    for (const alg of ["none", "None", "NONE", "", "RS257"]) {
      await expectUnauthorized(`${part({ alg })}.${forged}.`, /none that this service can verify/);
      await expectUnauthorized(`${part({ alg, kid: "first" })}.${forged}.${signature}`, /none that this service can verify/);
    }
    for (const token of [
      `${header}.${forged}.${signature}`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature.slice(0, -4)}AAAA`,
    ]) {
      await expectUnauthorized(token, /none that this service can verify/);
    }
  });

  test("a token signed with the published key as if it were a secret is refused", async () => {
    const texts = [
      await exportSPKI(key.publicKey),
      (await exportSPKI(key.publicKey)).trimEnd(),
      JSON.stringify(key.published),
      key.published.n,
    ];
    for (const secret of texts) {
      for (const alg of ["HS256", "HS512"]) {
        const signed = `${part({ alg, kid: "first" })}.${part({ ...claims(), exp: secondsFromNow(300) })}`;
        const signature = createHmac(alg.replace("HS", "sha"), secret ?? "")
          .update(signed)
          .digest("base64url");
        await expectUnauthorized(`${signed}.${signature}`, /none that this service can verify/);
      }
    }
  });

  test("a token that brings its own key is refused", async () => {
    const own = await makeSigningKey("first");
    const payload = part({ ...claims(), exp: secondsFromNow(300) });
    const [, , signature] = (await tokenOf({}, own)).split(".");
    for (const header of [{ jwk: own.published }, { jku: issuer.url }, { kid: "../first" }, { crit: ["x"], x: 1 }, {}]) {
      await expectUnauthorized(
        `${part({ alg: "RS256", kid: "first", ...header })}.${payload}.${signature}`,
        /none that this service can verify/,
      );
    }
    await expectUnauthorized(await tokenOf({}, own), /none that this service can verify/);
  });

  test("what is neither a key nor a token is told what to send", async () => {
    for (const text of ["key-of-acm", "a.b", "a.b.c.d", "...", "ey J.x.y"]) await expectUnauthorized(text, /needs a key or a token/);
    expect((await ask("key-of-acme")).status).toBe(400); // a key is known, and must say which user
  });

  test("tokens made by every kind of published key are taken", async () => {
    const kinds = ["PS256", "ES256", "EdDSA"];
    const keys = await Promise.all(kinds.map((alg) => makeSigningKey(`of-${alg}`, alg)));
    const other = await startTokenIssuer(...keys);
    const open = await openTestService({ JWT_JWKS_URL: other.url });
    for (const one of keys) {
      const headers = bearer(await signToken(one, { sub: "ada" }));
      expect((await callApi(`${open.url}/api/v1/conversations`, { headers })).status).toBe(200);
    }
    expect(other.asked()).toBe(1);
    await open.close();
    await other.close();
  });
});

describe("with JWT_SECRET", () => {
  const SECRET = "a secret of more than thirty-two characters";
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ JWT_SECRET: SECRET });
  });
  afterAll(() => service.close());

  const tokenOf = (claims: Claims, alg = "HS256", secret = SECRET): string => {
    const signed = `${part({ alg })}.${part({ exp: secondsFromNow(300), ...claims })}`;
    return `${signed}.${createHmac(alg.replace("HS", "sha"), secret).update(signed).digest("base64url")}`;
  };
  const ask = (token: string) => callApi(`${service.url}/api/v1/conversations`, { headers: bearer(token) });

  test.each(["HS256", "HS384", "HS512"])("a token of %s names its user in sub, of the tenant default", async (alg) => {
    const headers = bearer(tokenOf({ sub: `ada-${alg}` }, alg));
    expect((await postJson(`${service.url}/api/v1/chat`, { session_id: "s", message: "hi" }, headers)).status).toBe(200);
    expect(await listConversations(service.url, `ada-${alg}`, headers)).toHaveLength(1);
  });

  test("a token of another secret, or of a key, is refused, and so is none at all", async () => {
    const foreign = await makeSigningKey("first");
    for (const token of [
      tokenOf({ sub: "ada" }, "HS256", "another secret of more than thirty-two"),
      await signToken(foreign, { sub: "ada" }),
    ]) {
      expectRefusal(await ask(token), { status: 401, code: "unauthorized", says: /none that this service can verify/ });
    }
    const none = await callApi(`${service.url}/api/v1/conversations`);
    expectRefusal(none, { status: 401, code: "unauthorized", says: /needs a token: .*Bearer TOKEN/ });
  });
});
