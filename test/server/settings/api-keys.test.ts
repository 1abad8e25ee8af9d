import { createHash } from "node:crypto";
import { afterEach, describe, expect, test } from "@jest/globals";
import { callApi, listConversations, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { useTestService } from "../../support/services/service.ts";
import { killServiceProcesses, startServiceProcess } from "../../servers/service-process.ts";
import { makeSigningKey, signToken, startTokenIssuer } from "../../servers/token-issuer.ts";

const ACME = { authorization: "Bearer key-of-acme" };
const BODY = { user_id: "ada", session_id: "s", message: "hello" };

describe("a service with API_KEYS", () => {
  const service = useTestService({ API_KEYS: "key-of-acme:acme, second-key-of-acme:acme,key-of-globex:globex" });

  const WRONG: [name: string, headers: Record<string, string>][] = [
    ["no key", {}],
    ["an empty key", { authorization: "Bearer " }],
    ["a wrong key", { authorization: "Bearer key-of-nobody" }],
    ["the beginning of a key", { authorization: "Bearer key-of-acm" }],
    ["a key and more", { authorization: "Bearer key-of-acme2" }],
    ["a key with its tenant", { authorization: "Bearer key-of-acme:acme" }],
    ["a tenant's name", { authorization: "Bearer acme" }],
    ["another scheme", { authorization: "Basic key-of-acme" }],
    ["a key without a scheme", { authorization: "key-of-acme" }],
    ["a key in capitals", { authorization: "Bearer KEY-OF-ACME" }],
    ["a key behind something", { authorization: "Bearer xkey-of-acme" }],
    ["two keys", { authorization: "Bearer key-of-acme, Bearer key-of-globex" }],
    ["two keys in one", { authorization: "Bearer key-of-acme key-of-globex" }],
    ["a key's hash", { authorization: `Bearer ${createHash("sha256").update("key-of-acme").digest("hex")}` }],
    ["a token", { authorization: "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ." }],
    ["a key in another header", { "x-api-key": "key-of-acme" }],
  ];

  test.each(WRONG)("refuses %s everywhere, and stores nothing", async (_name, headers) => {
    const refusal = { status: 401, code: "unauthorized", says: /Authorization: Bearer KEY/ };
    for (const refused of [
      await postJson(`${service.url}/api/v1/chat`, { ...BODY, user_id: "intruder" }, headers),
      await postJson(`${service.url}/api/v1/chat/stream`, { ...BODY, user_id: "intruder" }, headers),
      await callApi(`${service.url}/api/v1/conversations?user_id=ada`, { headers }),
      await callApi(`${service.url}/api/v1/nothing-here`, { headers }),
    ]) {
      expectRefusal(refused, refusal);
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
      expect(refused.text).not.toMatch(/key-of-|acme/i);
    }
    expect(await listConversations(service.url, "intruder", ACME)).toEqual([]);
  });

  test("refuses a wrong key before it reads the body", async () => {
    expect((await postJson(`${service.url}/api/v1/chat`, "{no json")).status).toBe(401);
  });

  test("takes a right key in any case of the scheme, and shows the same to two keys of one tenant", async () => {
    const { status, events } = await postTurn(service.url, BODY, { headers: { authorization: "bearer key-of-acme" } });
    expect(status).toBe(200);
    const { conversation_id } = contentOf(events, "done");
    const second = { authorization: "Bearer second-key-of-acme" };
    expect((await listConversations(service.url, "ada", second)).map(({ id }) => id)).toContain(conversation_id);
  });

  test("needs no key for /healthz and /readyz", async () => {
    expect(await service.get("/healthz")).toMatchObject({ status: 200, json: { status: "alive" } });
    expect(await service.get("/readyz")).toMatchObject({ status: 200, json: { status: "ready", dependencies: { postgres: "up" } } });
  });
});

describe("the log of a service with keys", () => {
  afterEach(killServiceProcesses);

  test("holds no key and no token, right or wrong, whatever the answer to the request", async () => {
    const signing = await makeSigningKey("first");
    const issuer = await startTokenIssuer(signing);
    const database = await createRealDatabase();
    const service = await startServiceProcess({
      DATABASE_URL: database.url,
      LOG_LEVEL: "trace",
      API_KEYS: "hidden-key-of-acme:acme,hidden-key-that-reads:acme:read",
      JWT_JWKS_URL: issuer.url,
      JWT_AUDIENCE: "hidden-audience",
    });
    const tokens = [await signToken(signing, { sub: "ada", aud: "hidden-audience" }), await signToken(signing, { sub: "ada" })];
    const unknown = await signToken({ ...signing, kid: "unknown" }, { sub: "ada" });
    const send = async (bearer: string, session_id: string): Promise<number> => {
      const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
      const body = JSON.stringify({ user_id: "ada", session_id, message: "hello" });
      return (await fetch(`${service.url}/api/v1/chat?key=${bearer}`, { method: "POST", headers, body })).status;
    };
    const bearers = ["hidden-key-of-acme", "hidden-key-that-reads", "hidden-key-of-nobody", ...tokens];
    const statuses: number[] = [];
    for (const [number, bearer] of bearers.entries()) statuses.push(await send(bearer, `s${number}`));
    expect(statuses).toEqual([200, 403, 401, 200, 401]);
    await issuer.close();
    expect(await send(unknown, "s")).toBe(401); // asked for moments ago
    service.kill("SIGTERM");
    await service.exited;
    expect(service.output()).toContain("turn done");
    for (const secret of [...bearers.slice(0, 3), "hidden-audience", ...[...tokens, unknown].flatMap((token) => token.split("."))])
      expect(service.output()).not.toContain(secret);
    await database.drop();
  });
});
