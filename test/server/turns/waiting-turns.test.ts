import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, afterAll, beforeAll, beforeEach, describe } from "@jest/globals";
import { makeWaitingTurns } from "../../../agents/questions/waiting-turns.ts";
import type { ResumedTurn } from "../../../turn/resumed-turn.ts";
import { createHmac } from "node:crypto";
import { text } from "node:stream/consumers";
import { parseConfig } from "../../../server/settings/config.ts";
import { startHttpServer } from "../../servers/http-server.ts";
import { callApi, messagesOf } from "../../support/clients/api-client.ts";
import { askingClient, callOf, ORDER_TOOLS, statuses } from "../../support/services/asking-agent.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { postTurn } from "../../support/clients/event-client.ts";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";

const DUE = { answered: { by: "time" } } as unknown as ResumedTurn;
test("a stop waits for the running check of waiting turns, whose turns go on, and begins no other check", async () => {
  const [looking, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let looks = 0;
  const wentOn: ResumedTurn[] = [];
  const errors: unknown[] = [];
  const waiting = makeWaitingTurns({
    questions: {
      async takeDue() {
        looks++;
        looking.resolve();
        await gate.promise;
        return [DUE];
      },
      untilDue: async () => 0,
    },
    turns: { finish: () => Promise.reject(new Error("no turn ends here")) },
    leaseMs: 1_000,
    async goOn(resumed) {
      wentOn.push(resumed);
      return { ended: Promise.resolve() };
    },
    onError: (error) => errors.push(error),
  });
  waiting.lookIn(0);
  await looking.promise;
  const stopped = waiting.stop();
  expect(await Promise.race([stopped, sleep(100, "not yet")])).toBe("not yet");
  gate.resolve();
  await stopped;
  await sleep(200); // twice the pause between two looks
  expect([wentOn, looks, errors]).toEqual([[DUE], 1, []]);
});

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

  test("gets a signed question, even after two failures, and the turn does not wait for it", async () => {
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

  test("gets no calls of the caller's own tools, and no question that was answered before it could be reached", async () => {
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
test("QUESTION_WEBHOOK_URL needs a secret", () => {
  expect(() => parseConfig({ QUESTION_WEBHOOK_URL: "https://chat.example.org/hook" })).toThrow(/QUESTION_WEBHOOK_SECRET: is missing/);
});

/** What each node tells of itself in a turn with `debug`. */
describe("the execution log", () => {
  const running = useServiceWithEpisodes({ ENABLE_CORE_MEMORY: "true" });
  beforeAll(async () => {
    const { conversation_id: id } = await running.say("ada", "My bicycle is red and stands in the cellar.", "first");
    await running.settle(id);
  });

  async function logsOf(debug: boolean): Promise<Record<string, unknown>[]> {
    const { events } = await postTurn(running.url, { user_id: "ada", session_id: "second", message: "What colour is my bicycle?", debug });
    return events.flatMap(({ data }) => (data.status === "execution_log" ? [data.content] : []));
  }

  test("has one entry for each node, with its findings and its time but no words of the user", async () => {
    const logs = await logsOf(true);
    const byNode = Object.fromEntries(logs.map((log) => [String(log["node"]), log]));
    expect(Object.keys(byNode).sort()).toEqual(["core_memory", "generate", "history", "persist", "retrieve", "route"]);
    const milliseconds = expect.any(Number) as unknown;
    expect(byNode).toMatchObject({
      route: { kb_prefix: "general", method: "default", knowledge_bases: 0, ms: milliseconds },
      history: { window_messages: 0, window_is_whole: true, summary_version: null, has_other_episodes: true },
      core_memory: { sections: [] },
      retrieve: { episodes: 1, episodes_ms: milliseconds, episodes_degraded: false },
      generate: {
        first_token_ms: milliseconds,
        model_ms: milliseconds,
        prompt_tokens: { system: milliseconds, episodes: milliseconds, message: milliseconds },
        left_out: 0,
        error: null,
      },
      persist: { outcome: "stored", completed: true, jobs: expect.arrayContaining(["index_episodes", "remember"]) as unknown },
    });
    expect(JSON.stringify(logs)).not.toMatch(/bicycle|cellar/);
  });

  test("is stored with the answer, beside the memory that the turn was given", async () => {
    const [, answer] = await messagesOf(running.url, "ada", "second");
    const log = expect.arrayContaining([expect.objectContaining({ node: "generate" })]);
    const episodes = [expect.objectContaining({ message_ids: [expect.any(String), expect.any(String)] })];
    expect(answer?.metadata).toMatchObject({ execution_log: log, episodes, route: { kb_prefix: "general" } });
    expect(JSON.stringify(answer?.metadata)).not.toMatch(/bicycle|cellar/);
  });

  test("is missing without debug", async () => expect(await logsOf(false)).toEqual([]));
});
