import { beforeAll, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, postJson, putJson } from "../../support/clients/api-client.ts";
import { contentOf } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { askingClient, callOf, ORDER_TOOLS, ordered } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { bearer, JWT_SECRET } from "../../servers/token-issuer.ts";
import { apiKeysOf, keyOf, tokenOf } from "./tenant-world.ts";

const ACME = bearer(keyOf("acme"));
const settings = { API_KEYS: apiKeysOf(["acme", "acme-corp"]), JWT_SECRET, JWT_TENANT_CLAIM: "tenant" };
const running = useServiceWithModel(settings, { extras: { tools: ORDER_TOOLS } });
const strangers = [bearer(keyOf("acme-corp")), tokenOf("acme", "Ada"), tokenOf("acme", "bob"), tokenOf("acme-corp", "ada")];

let client: ReturnType<typeof askingClient>;
beforeAll(async () => {
  client = askingClient(running, ACME);
  await client.makeAgent("asks");
});

const ask = async () => {
  client.follow([callOf("order", { item: "tea" })], "Ordered.");
  return client.untilWaiting("asks");
};

test("nobody else can answer, see or end a question, whatever ids they know", async () => {
  ordered.length = 0;
  const waiting = await ask();
  const path = `${running.url}/api/v1/turns/${waiting.turn_id}`;
  for (const headers of strangers) {
    const body = { question_id: waiting.question.id, answer: "allow_always" };
    expectRefusal(await postJson(`${path}/answers`, body, headers), { status: 404, code: "not_found", says: /no question/ });
    expect((await postJson(`${path}/cancel`, {}, headers)).status).toBe(404);
    const list = await callApi<{ questions: object[] }>(`${running.url}/api/v1/questions?user_id=ada`, { headers });
    expect(list.json.questions ?? []).toEqual([]);
  }
  expect(await client.turn(waiting)).toMatchObject({ state: "waiting", question: waiting.question });
  expect(ordered).toEqual([]);
  expect(await client.permissions()).toEqual([]);
  expect((await postJson(`${path}/answers`, { question_id: waiting.question.id, answer: "deny" }, tokenOf("acme", "ada"))).status).toBe(
    201,
  );
});

test("an answer counts only for the question of its own turn, and only once", async () => {
  const [one, other] = [await ask(), await ask()];
  const forged: [string, string][] = [
    [one.turn_id, other.question.id],
    [one.turn_id, uuidv7()],
    [uuidv7(), one.question.id],
  ];
  for (const [turnId, question_id] of forged) {
    const answer = await postJson(`${running.url}/api/v1/turns/${turnId}/answers`, { question_id, answer: "allow_once" }, ACME);
    expectRefusal(answer, { status: 404, code: "not_found", says: /no question/ });
  }
  for (const waiting of [one, other]) {
    expect((await client.answer(waiting, { answer: "deny" })).status).toBe(201);
    await client.rest(waiting);
    expectRefusal(await client.answer(waiting, { answer: "allow_once" }), { status: 409, code: "already_answered", says: /first answer/ });
  }
});

test("one of fifty answers at once is taken, and the call runs once", async () => {
  ordered.length = 0;
  const waiting = await ask();
  const answers = await Promise.all(Array.from({ length: 50 }, () => client.answer(waiting, { answer: "allow_once" })));
  const taken = answers.filter(({ status }) => status === 201);
  expect([taken.length, answers.filter(({ status }) => status === 409).length]).toEqual([1, 49]);
  expect(contentOf((await client.rest(waiting)).events, "done").answer).toBe("Ordered.");
  expect(ordered).toHaveLength(1);
});

test("a rule that denies wins over an answer that was given before the rule was read", async () => {
  ordered.length = 0;
  const waiting = await ask();
  const agent = { description: "Orders", tools: ["*"], permissions: [{ tool: "order", action: "deny" }] };
  await putJson(`${running.url}/api/v1/agents/asks`, agent, ACME);
  await client.answer(waiting, { answer: "allow_once" });
  expect(contentOf((await client.rest(waiting)).events, "tool_result")).toMatchObject({ ok: false });
  expect(ordered).toEqual([]);
  await client.makeAgent("asks");
});
