import { beforeEach, describe, expect, test } from "@jest/globals";
import { QUESTION_CHANNEL } from "../../../stores/postgres/turns/question-rows.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { contentOf } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { askingClient, callOf, ORDER_TOOLS, ordered } from "../../support/services/asking-agent.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { openTestService } from "../../support/services/service.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";
import type { Waiting } from "../../../turn/events.ts";

const CLIENTS = 50;

const database = useTestPostgres();
const here = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }, { extras: { tools: ORDER_TOOLS } }));
const there = useOpened(() =>
  openTestService(
    { DATABASE_URL: database.url, OPENAI_BASE_URL: here.model.url, CHAT_MODEL: "test-chat" },
    { extras: { tools: ORDER_TOOLS } },
  ),
);
let client: ReturnType<typeof askingClient>;
beforeEach(async () => {
  client = askingClient(here);
  await client.makeAgent("asks");
  ordered.length = 0;
});

const ask = (fields: object = {}) => {
  client.follow([callOf("order", { item: "tea" })], "Ordered.");
  return client.untilWaiting("asks", fields);
};
const places = () => [here.url, there.url];
const expire = () =>
  database.query({
    text: `with due as (update questions set expires_at = clock_timestamp() where answered_at is null) select pg_notify('${QUESTION_CHANNEL}', '0')`,
  });

/** Answers of many clients at once, at both processes: half of them allow, half deny. */
function race(waiting: Waiting) {
  return Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      const answer = index % 4 < 2 ? "allow_once" : "deny";
      return { answer, ...(await client.answer(waiting, { answer }, places()[index % 2])) };
    }),
  );
}

describe(`when ${CLIENTS} clients answer the same question at once, at two processes,`, () => {
  test("exactly one wins, and what it said happens", async () => {
    for (let round = 0; round < 3; round++) {
      ordered.length = 0;
      const waiting = await ask();
      const answers = await race(waiting);
      const [winner, ...others] = answers.filter(({ status }) => status === 201);
      expect(others).toEqual([]);
      const refused = answers.filter(({ status }) => status !== 201).map(({ status, json }) => [status, json.error.code]);
      expect(refused).toEqual(Array.from({ length: CLIENTS - 1 }, () => [409, "already_answered"]));
      await waitUntil("the turn is done", async () => (await client.turn(waiting)).state === "done");
      expect(ordered).toHaveLength(winner?.answer === "allow_once" ? 1 : 0);
      const decided = await callApi<{ decisions: { id: string; answer: string }[] }>(`${there.url}/api/v1/users/ada/decisions`);
      const ofThis = decided.json.decisions.filter(({ id }) => id === waiting.question.id);
      expect(ofThis).toMatchObject([{ answer: winner?.answer, by: "person" }]);
    }
  });

  test.each(["a cancel", "the expiry", "another message that ends the turn"])("and beside %s, at most one wins", async (what) => {
    const waiting = await ask({ session_id: what });
    const beside = {
      "a cancel": () => postJson(`${there.url}/api/v1/turns/${waiting.turn_id}/cancel`, {}),
      "the expiry": expire,
      "another message that ends the turn": () => {
        const body = { user_id: "ada", session_id: what, message: "Never mind.", agent: "assistant" };
        return postJson(`${there.url}/api/v1/chat`, { ...body, on_busy: "cancel_waiting" });
      },
    }[what];
    const [answers] = await Promise.all([race(waiting), beside?.()]);
    const taken = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(taken.length).toBeLessThanOrEqual(1);
    const code = taken.length === 1 ? ["already_answered"] : ["already_answered", "question_expired"];
    for (const { json } of refused) expect(code).toContain(json.error.code);
    await waitUntil("the turn is over", async () => ["done", "failed"].includes((await client.turn(waiting)).state));
    expect(ordered.length).toBeLessThanOrEqual(taken.filter(({ answer }) => answer === "allow_once").length);
    expect(await client.open()).toEqual([]);
  });
});

describe("an answer to a turn that no longer waits because it", () => {
  test.each<[how: string, end: (waiting: Waiting) => Promise<unknown>, status: number, code: string]>([
    ["is answered", (waiting) => client.answer(waiting, { answer: "deny" }, there.url), 409, "already_answered"],
    ["is cancelled", ({ turn_id }) => postJson(`${there.url}/api/v1/turns/${turn_id}/cancel`, {}), 410, "question_expired"],
    ["has expired", expire, 410, "question_expired"],
    [
      "is erased",
      ({ conversation_id }) => callApi(`${there.url}/api/v1/conversations/${conversation_id}`, { method: "DELETE" }),
      404,
      "not_found",
    ],
  ])("%s is refused by both processes, and nothing runs", async (_how, end, status, code) => {
    const waiting = await ask();
    await end(waiting);
    for (const place of places()) expectRefusal(await client.answer(waiting, { answer: "allow_once" }, place), { status, code, says: /./ });
    if (status !== 404) {
      await waitUntil("the turn is over", async () => ["done", "failed"].includes((await client.turn(waiting)).state));
      for (const place of places())
        expectRefusal(await client.answer(waiting, { answer: "allow_once" }, place), { status, code, says: /./ });
    }
    expect(ordered).toEqual([]);
  });
});

// Whoever changes rows between the question and the answer gets nothing run that nobody saw.
test.each<[what: string, set: string]>([
  ["the arguments that are to run", "resume = jsonb_set(resume, '{pending,0,arguments}', to_jsonb('{\"item\":\"gold\"}'::text))"],
  ["the arguments that are shown", "content = jsonb_set(content, '{tool,arguments}', to_jsonb('{\"item\":\"gold\"}'::text))"],
  ["the tool that is to run", "resume = jsonb_set(resume, '{pending,0,name}', to_jsonb('look_up'::text))"],
  ["the space between them", "resume = jsonb_set(resume, '{pending,0,arguments}', to_jsonb('{\"item\": \"tea\"}'::text))"],
])("a call is not run when somebody changes %s in the database", async (_what, set) => {
  const waiting = await ask();
  expect(waiting.question.tool).toEqual({ name: "order", arguments: { item: "tea" } });
  await database.query({ text: `update questions set ${set} where id = $1`, values: [waiting.question.id] });
  await client.answer(waiting, { answer: "allow_once" });
  const rest = await client.rest(waiting);
  expect(contentOf(rest.events, "tool_result")).toMatchObject({ ok: false, output: expect.stringContaining("not the one that was shown") });
  expect(ordered).toEqual([]);
});
