import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Waiting } from "../../../../turn/events.ts";
import { postJson } from "../../../support/clients/api-client.ts";
import { contentOf, readEvents } from "../../../support/clients/event-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { askingClient, callOf, expireQuestions, ORDER_TOOLS, ordered, statuses } from "../../../support/services/asking-agent.ts";
import { openTestService } from "../../../support/services/service.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const database = useTestPostgres();
const opened = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }, { extras: { tools: ORDER_TOOLS } }));
let client: ReturnType<typeof askingClient>;
beforeEach(async () => {
  client = askingClient(opened);
  ordered.length = 0;
  opened.model.seen.length = 0;
  await client.makeAgent("steps", { permissions: [{ tool: "order", action: "allow" }] });
});

const tea = callOf("order", { item: "tea" }, "t");
const milk = callOf("order", { item: "milk" }, "m");
const stepping = { execution: "stepping" };

/** What a question is about: the model, or a call. */
const about = ({ question }: Waiting): unknown => question.tool?.arguments ?? "model";

/** Answers until the turn ends; what it was asked about, and how it ended. */
async function stepThrough(first: Waiting, at = opened.url) {
  const seen: unknown[] = [];
  for (let waiting = first; ;) {
    seen.push(about(waiting));
    expect((await client.answer(waiting, { answer: "step" }, at)).status).toBe(201);
    const { events } = await client.rest(waiting, at);
    const last = events.at(-1)?.data;
    if (last?.status !== "waiting") return { seen, last };
    waiting = last.content;
  }
}

describe("a turn that is stepped through", () => {
  test("stops before each call of the model and of a tool, and goes on step by step", async () => {
    client.follow([tea, milk], "Ordered.");
    const asked = await client.ask("steps", stepping);
    expect(statuses(asked)).toEqual(["route_decision", "decision_asked", "waiting"]);
    const first = contentOf(asked.events, "waiting");
    expect(first.question.options.map(({ label }) => label)).toEqual(["step", "run", "stop"]);
    expect(opened.model.seen).toHaveLength(0);
    const { seen, last } = await stepThrough(first);
    expect(seen).toEqual(["model", { item: "tea" }, { item: "milk" }, "model"]);
    expect(last).toMatchObject({ status: "done", content: { answer: "Ordered.", tool_calls: 2 } });
    expect(ordered).toEqual(['{"item":"tea"}', '{"item":"milk"}']);
    expect(opened.model.seen).toHaveLength(2);
  });

  test('goes on without stopping after "run", and still asks for permission', async () => {
    await client.makeAgent("careful");
    client.follow([tea], [milk], "Ordered.");
    const first = await client.untilWaiting("careful", stepping);
    await client.answer(first, { answer: "step" });
    const second = contentOf((await client.rest(first)).events, "waiting");
    expect(about(second)).toEqual({ item: "tea" });
    await client.answer(second, { answer: "run" });
    const third = contentOf((await client.rest(second)).events, "waiting");
    expect([third.question.type, ordered]).toEqual(["permission", []]);
    await client.answer(third, { answer: "allow_once" });
    const fourth = contentOf((await client.rest(third)).events, "waiting");
    expect([fourth.question.type, about(fourth)]).toEqual(["permission", { item: "milk" }]);
    await client.answer(fourth, { answer: "deny" });
    expect(contentOf((await client.rest(fourth)).events, "done").answer).toBe("Ordered.");
  });

  test('still calls no more tools after "stop" in a doom loop, and asks once more before the last answer', async () => {
    opened.model.answer(({ tools }) => ((tools?.length ?? 0) > 0 ? { toolCalls: [tea] } : { tokens: ["From what there is."] }));
    let waiting = await client.untilWaiting("steps", stepping);
    while (!waiting.question.options.some(({ label }) => label === "skip")) {
      await client.answer(waiting, { answer: "step" });
      waiting = contentOf((await client.rest(waiting)).events, "waiting");
    }
    expect(ordered).toHaveLength(2);
    await client.answer(waiting, { answer: "stop" });
    const { seen, last } = await stepThrough(contentOf((await client.rest(waiting)).events, "waiting"));
    expect([seen, last]).toMatchObject([["model"], { status: "done", content: { answer: "From what there is." } }]);
  });

  test.each(["stop", "nobody answers"])("ends as cancelled (%s)", async (how) => {
    client.follow([tea], "Ordered.");
    const first = await client.untilWaiting("steps", stepping);
    await client.answer(first, { answer: "step" });
    const second = contentOf((await client.rest(first)).events, "waiting");
    if (how === "stop") await client.answer(second, { answer: "stop" });
    else await expireQuestions(database);
    await waitUntil("the turn has ended", async () => (await client.turn(second)).state === "failed");
    expect((await client.turn(second)).error).toMatchObject({ code: "turn_cancelled" });
    expect([ordered, opened.model.seen.length]).toEqual([[], 1]);
  });

  test("can be a turn of the assistant without tools", async () => {
    client.follow("Hello.");
    const { seen, last } = await stepThrough(await client.untilWaiting("assistant", stepping));
    expect([seen, last]).toMatchObject([["model"], { status: "done", content: { answer: "Hello.", agent: "assistant" } }]);
  });

  test("works over POST /api/v1/chat and over the stream of the answer", async () => {
    client.follow("Hello.");
    const body = { user_id: "ada", session_id: "whole-step", message: "Hi.", agent: "steps", ...stepping };
    const { status, json } = await postJson<Waiting>(`${opened.url}/api/v1/chat`, body);
    expect([status, json.question.type]).toEqual([202, "decision"]);
    const response = await fetch(`${opened.url}/api/v1/turns/${json.turn_id}/answers`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ question_id: json.question.id, answer: "step" }),
    });
    expect(statuses(await readEvents(response))).toEqual(["decision_answered", "token", "done"]);
  });

  test("goes on in another process, which keeps stepping", async () => {
    client.follow([tea], "Ordered.");
    const first = await client.untilWaiting("steps", stepping);
    const environment = { DATABASE_URL: database.url, OPENAI_BASE_URL: opened.model.url, CHAT_MODEL: "test-chat" };
    const other = await openTestService(environment, { extras: { tools: ORDER_TOOLS } });
    try {
      const { seen, last } = await stepThrough(first, other.url);
      expect([seen, last?.status]).toEqual([["model", { item: "tea" }, "model"], "done"]);
    } finally {
      await other.close();
    }
  });

  test("takes only an option of its question as an answer, and is refused when nobody can be asked", async () => {
    const first = await client.untilWaiting("steps", stepping);
    expectRefusal(await client.answer(first, { text: "Go on." }), {
      status: 400,
      code: "invalid_request",
      says: /one of step, run, stop$/,
    });
    await client.answer(first, { answer: "stop" });
    const refused = await client.ask("steps", { ...stepping, interactive: false });
    expect([refused.status, refused.json?.error.message]).toEqual([400, expect.stringContaining("execution")]);
    expect((await client.ask("steps", { execution: "slow" })).status).toBe(400);
  });
});
