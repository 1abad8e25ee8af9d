import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, postJson, putJson } from "../../../support/clients/api-client.ts";
import { beginTurn, contentOf } from "../../../support/clients/event-client.ts";
import { cancelTurn } from "../../../support/clients/turn-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { openTestService } from "../../../support/services/service.ts";
import { startModelServer } from "../../../servers/model-server.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import type { TurnResult } from "../../../../turn/events.ts";

type Service = Awaited<ReturnType<typeof openTestService>>;

const PRICES = { input: 2, output: 8 };
const profiles = join(tmpdir(), `${uuidv7()}.json`);

describe("the context of a conversation", () => {
  const database = useTestPostgres();
  let model: Awaited<ReturnType<typeof startModelServer>>;
  let services: Service[];
  const url = (index = 0): string => services[index]?.url ?? "";
  const open = (): Promise<Service> =>
    openTestService({ DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, CHAT_MODEL: "own", MODEL_PROFILES: profiles });

  beforeAll(async () => {
    await writeFile(profiles, JSON.stringify({ own: { prices: PRICES, capabilities: ["tools"] } }));
    model = await startModelServer({
      other: (request, response) =>
        response
          .writeHead(request.url === "/v1/models" ? 200 : 404, { "content-type": "application/json" })
          .end(JSON.stringify({ data: [{ id: "own", max_model_len: 4_096 }] })),
    });
    services = [await open(), await open()];
    await waitUntil("the server has told", async () =>
      JSON.stringify(await Promise.all([0, 1].map((index) => limitOf(index)))).includes("[4096,4096]"),
    );
  });
  afterAll(async () => {
    for (const service of services) await service.close();
    await model.close();
  });

  const models = async (index: number) => (await callApi<{ models: Record<string, unknown>[] }>(`${url(index)}/api/v1/models`)).json.models;
  const limitOf = async (index: number) => (await models(index))[0]?.["context_window"];
  const context = async (id: string, index = 0) =>
    (await callApi<Record<string, unknown>>(`${url(index)}/api/v1/conversations/${id}/context`)).json;
  const say = async (sessionId: string, index = 0) =>
    (await postJson<TurnResult>(`${url(index)}/api/v1/chat`, { user_id: "ada", session_id: sessionId, message: "hello" })).json;

  test("has a limit that the list of models shows, with the source of each fact", async () => {
    expect(await models(0)).toEqual([
      {
        name: "own",
        uses: ["chat", "router", "summary", "memory"],
        choosable: false,
        context_window: 4_096,
        max_output_tokens: null,
        prices: PRICES,
        capabilities: ["tools"],
        sources: { context_window: "server", prices: "file", capabilities: "file" },
        learned: [],
      },
    ]);
  });

  test("has the size of an agent's last prompt, and the tokens of all its prompts together", async () => {
    await putJson(`${url()}/api/v1/agents/counter`, { description: "Counts", tools: ["calculate"] });
    let asked = 0;
    model.answer(() => (asked++ < 2 ? { toolCalls: [{ name: "calculate", arguments: { expression: `${asked}+1` } }] } : { tokens: ["3"] }));
    const body = { user_id: "ada", session_id: "counted", message: "count", agent: "counter" };
    const { json: done } = await postJson<TurnResult>(`${url()}/api/v1/chat`, body);
    expect(done.usage).toMatchObject({ prompt_tokens: 300, usage_ratio: 0.0319 });
    expect(await context(done.conversation_id)).toMatchObject({ prompt_tokens: 300, usage_ratio: 0.0319, remaining_tokens: 3_133 - 100 });
  });

  test('counts every turn of every process, outlives the process, and is reported for its own turn in "done"', async () => {
    model.answer({ tokens: ["a", "b"] });
    const done = await say("grows");
    const limit = Math.floor(4_096 * 0.85 * 0.9);
    expect(done.usage).toMatchObject({ prompt_tokens: 100, context_limit: limit, usage_ratio: 0.0319, cached_tokens: null });
    expect(done.cost).toEqual({ input_usd: 0.0002, output_usd: 0.000016 });
    await Promise.all(
      [0, 1, 0, 1].map((index) =>
        postJson(`${url(index)}/api/v1/chat`, { user_id: "ada", session_id: "grows", message: "more", on_busy: "enqueue" }),
      ),
    );
    const told = await context(done.conversation_id, 1);
    expect(told).toMatchObject({
      model: "own",
      context_limit: limit,
      usage_ratio: 0.0319,
      prompt_tokens: 500,
      completion_tokens: 10,
      cached_tokens: 0,
      total_tokens: 510,
      remaining_tokens: limit - 100,
      unpriced_turns: 0,
      parts: { system: expect.any(Number), window: expect.any(Number) },
      warned: false,
      saturated: false,
    });
    expect((told["cost"] as { input_usd: number }).input_usd).toBeCloseTo(0.001, 10);
    const again = await open();
    services.push(again);
    expect(await context(done.conversation_id, 2)).toEqual(told);
  });

  test("counts a turn whose server reports no usage as one without a price, and ignores a turn without an answer", async () => {
    model.answer({ tokens: ["a"], withoutUsage: true });
    const { conversation_id: id } = await say("unpriced");
    const before = await context(id);
    expect(before).toMatchObject({ cost: null, unpriced_turns: 1, completion_tokens: 1 });
    model.answer({ status: 500 });
    await postJson(`${url()}/api/v1/chat`, { user_id: "ada", session_id: "unpriced", message: "hello" });
    model.answer({ tokens: [], ending: "hang" });
    const { turnId, ended } = await beginTurn(url(), { user_id: "ada", session_id: "unpriced", message: "hello" });
    await cancelTurn(url(), turnId);
    expect(contentOf((await ended).events, "error").code).toBe("turn_cancelled");
    expect(await context(id)).toEqual(before);
  });

  test("is empty before the first prompt, and is not found for an unknown conversation", async () => {
    const body = { user_id: "eve", session_id: "imported", messages: [{ role: "user", content: "hi" }] };
    const { conversation_id: id } = (await postJson<{ conversation_id: string }>(`${url()}/api/v1/conversations/import`, body)).json;
    expect(await context(id)).toMatchObject({ usage_ratio: 0, prompt_tokens: 0, cost: null, parts: null, remaining_tokens: 3_133 });
    expect((await callApi(`${url()}/api/v1/conversations/${uuidv7()}/context`)).status).toBe(404);
  });
});

describe("a MODEL_PROFILES file", () => {
  test.each([
    ["does not exist", null, /cannot be read/],
    ["is not JSON", "{", /is not JSON/],
    ["has an unknown field", '{"m": {"context": 5}}', /m: Unrecognized key: "context"/],
    ["has a wrong value", '{"m": {"context_window": 100}}', /m\.context_window: must be 512 or more/],
  ])("that %s is refused at the start with the reason", async (_, text, message) => {
    const file = join(tmpdir(), `${uuidv7()}.json`);
    if (text !== null) await writeFile(file, text);
    await expect(openTestService({ MODEL_PROFILES: file })).rejects.toThrow(message);
  });
});
