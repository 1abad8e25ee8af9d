import { createHmac } from "node:crypto";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../server/settings/config.ts";
import { startHttpServer } from "../../servers/http-server.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { askingClient, callOf, ORDER_TOOLS, statuses } from "../../support/services/asking-agent.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const SECRET = "a secret of a team that is asked";

interface Received {
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

describe("QUESTION_WEBHOOK_URL", () => {
  const received: Received[] = [];
  let failures = 0;
  let hook: Awaited<ReturnType<typeof startHttpServer>>;
  let service: ServiceWithModel;
  let client: ReturnType<typeof askingClient>;
  beforeAll(async () => {
    hook = await startHttpServer((request, response) => {
      void text(request).then((body) => {
        received.push({ headers: request.headers, body });
        response.writeHead(failures-- > 0 ? 503 : 204).end();
      });
    });
    const environment = { QUESTION_WEBHOOK_URL: `${hook.origin}/hook`, QUESTION_WEBHOOK_SECRET: SECRET };
    service = await openServiceWithModel(environment, { extras: { tools: ORDER_TOOLS } });
  });
  afterAll(async () => {
    await service.close();
    await hook.close();
  });
  beforeEach(async () => {
    received.length = 0;
    client = askingClient(service);
    await client.makeAgent("asks");
    client.follow([callOf("order", { item: "tea" })], "Done.");
  });

  test("is told of a question, signed, also when it fails twice before, and the turn waits for none of it", async () => {
    failures = 2;
    const { question, turn_id, conversation_id } = await client.untilWaiting("asks", { message: "Order something secret." });
    await waitUntil("it is told", () => received.length === 3);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    for (const { headers, body } of received) {
      const [id, timestamp] = [headers["webhook-id"], headers["webhook-timestamp"]];
      expect(id).toBe(question.id);
      expect(Math.abs(Date.now() / 1_000 - Number(timestamp))).toBeLessThan(60);
      const signature = createHmac("sha256", SECRET)
        .update(`${String(id)}.${String(timestamp)}.${body}`)
        .digest("base64");
      expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
    }
    const told = JSON.parse(received[0]?.body ?? "") as object;
    expect(told).toEqual({
      ...{ type: "question.asked", text: expect.stringMatching(/"asks" call "order".*"tea"/s), question },
      ...{ tenant: "default", user_id: "ada", turn_id, conversation_id },
    });
    expect(received[0]?.body).not.toContain("secret");
  });

  test("is not told of calls of the caller's own tools, nor of what was answered before it could be reached", async () => {
    client.follow([callOf("at_caller", {})], "Done.");
    const atCaller = await client.untilWaiting("asks");
    client.follow([callOf("order", { item: "tea" })], "Done.");
    failures = 1_000;
    const waiting = await client.untilWaiting("asks");
    await waitUntil("it was tried", () => received.length > 0);
    await client.answer(waiting, { answer: "deny" });
    expect(statuses(await client.rest(waiting)).at(-1)).toBe("done");
    const jobs = async () => (await callApi<{ jobs: { kind: string }[] }>(`${service.url}/api/v1/jobs`)).text.includes("tell_question");
    await waitUntil("the job has ended", async () => !(await jobs()));
    failures = 0;
    expect(received.every(({ body }) => body.includes(waiting.turn_id))).toBe(true);
    expect(received.some(({ body }) => body.includes(atCaller.turn_id))).toBe(false);
  });
});

test("QUESTION_WEBHOOK_URL wants a secret", () => {
  expect(() => parseConfig({ QUESTION_WEBHOOK_URL: "https://chat.example.org/hook" })).toThrow(/QUESTION_WEBHOOK_SECRET: is missing/);
});
