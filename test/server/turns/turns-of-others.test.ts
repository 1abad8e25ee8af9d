import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, type ErrorBody } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const SECRET = "a secret of more than thirty-two characters";
const ROUTES = [
  ["GET", ""],
  ["GET", "/stream"],
  ["POST", "/cancel"],
] as const;

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
function tokenOf(sub: string): { authorization: string } {
  const signed = `${part({ alg: "HS256" })}.${part({ sub, exp: Math.floor(Date.now() / 1_000) + 300 })}`;
  return { authorization: `Bearer ${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}` };
}

const ADA = tokenOf("ada");
const STRANGERS = [
  ["another user's token", tokenOf("eve")],
  ["a token of the same name in other letters", tokenOf("Ada")],
  ["the key of another tenant", { authorization: "Bearer key-of-other" }],
] as const;

describe("a turn of a user with a token", () => {
  let running: ServiceWithModel;
  let sessionId: string;
  beforeAll(async () => {
    running = await openServiceWithModel({ JWT_SECRET: SECRET, API_KEYS: "key-of-default:default,key-of-other:other" });
  });
  afterAll(() => running.close());
  beforeEach(() => {
    sessionId = uuidv7();
    running.model.seen.splice(0);
  });

  const call = (turnId: string, [method, route]: (typeof ROUTES)[number], headers: Record<string, string>) =>
    callApi<ErrorBody & { state?: string; cancelled?: boolean }>(`${running.url}/api/v1/turns/${turnId}${route}`, { method, headers });
  const ask = (fields: object = {}): Promise<EventStreamResponse> =>
    postTurn(running.url, { session_id: sessionId, message: "hello", ...fields }, { headers: ADA });

  async function expectNothingFor(turnId: string, headers: Record<string, string>): Promise<void> {
    const nobodys = uuidv7();
    for (const route of ROUTES) {
      const [theirs, none] = await Promise.all([call(turnId, route, headers), call(nobodys, route, headers)]);
      expect(theirs.status).toBe(404);
      expect(theirs.text.replaceAll(turnId, "id")).toBe(none.text.replaceAll(nobodys, "id"));
    }
  }

  test.each(STRANGERS)("that is done is as if it were not there for %s", async (_who, headers) => {
    running.model.answer({ tokens: ["a secret"] });
    const turnId = (await ask()).headers.get("x-turn-id") ?? "";
    await expectNothingFor(turnId, headers);
    for (const mine of [ADA, { authorization: "Bearer key-of-default" }]) {
      expect((await call(turnId, ROUTES[0], mine)).json).toMatchObject({ state: "done" });
    }
  });

  test.each(STRANGERS)("that runs is not stopped, nor told, by %s", async (_who, headers) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    running.model.answer({ tokens: ["a secret"], until: released });
    const response = await fetch(`${running.url}/api/v1/chat/stream`, {
      method: "POST",
      headers: { "content-type": "application/json", ...ADA },
      body: JSON.stringify({ session_id: sessionId, message: "hello" }),
    });
    const turnId = response.headers.get("x-turn-id") ?? "";
    await waitUntil("the model to be asked", () => running.model.seen.length === 1);
    await expectNothingFor(turnId, headers);
    release();
    expect(await response.text()).toContain('"status":"done"');
  });

  test.each(STRANGERS)("that waits in line is not told, nor stopped, by %s", async (_who, headers) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    running.model.answer({ tokens: ["a secret"], until: released });
    const first = ask();
    await waitUntil("the model to be asked", () => running.model.seen.length === 1);
    const waiting = await fetch(`${running.url}/api/v1/chat/stream`, {
      method: "POST",
      headers: { "content-type": "application/json", ...ADA },
      body: JSON.stringify({ session_id: sessionId, message: "hello", on_busy: "enqueue" }),
    });
    await expectNothingFor(waiting.headers.get("x-turn-id") ?? "", headers);
    release();
    expect(contentOf((await first).events, "done").completed).toBe(true);
    expect(await waiting.text()).toContain('"status":"done"');
  });
});
