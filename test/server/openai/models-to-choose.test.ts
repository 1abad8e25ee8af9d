import { beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../server/settings/config.ts";
import { createModels } from "../../../server/parts/open-models.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { callApi, postJson, putJson } from "../../support/clients/api-client.ts";
import { writeModelList } from "../../support/model-list.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

const PRICES = { input: 1, output: 2 };

async function openWithList() {
  const other = await startModelServer();
  const MODELS = writeModelList({
    large: { base_url: other.url, api_key: "key-of-the-other", model: "qwen3:8b", fallback: ["test-chat"] },
    "test-chat": { fallback: ["large"] },
    alone: { base_url: "http://127.0.0.1:9/v1" },
    keeper: { base_url: other.url, api_key: "key-of-the-other", internal: true },
  });
  const MODEL_PROFILES = writeModelList({ large: { context_window: 40_000, prices: PRICES } });
  const given = { MEMORY_MODEL: "keeper", MODELS, MODEL_PROFILES, OPENAI_API_KEY: "key-of-the-service", API_KEYS: "key-of-acme:acme" };
  const service = await openServiceWithModel(given).catch(async (error: unknown) => {
    await other.close();
    throw error;
  });
  return { ...service, other, close: () => service.close().finally(() => other.close()) };
}

const ACME = { authorization: "Bearer key-of-acme" };

describe("a model that the caller chooses", () => {
  const running = useOpened(openWithList);
  beforeEach(() => {
    for (const server of [running.model, running.other]) {
      server.seen.splice(0);
      server.answer({ tokens: [server === running.other ? "other" : "own"] });
    }
  });
  const chat = (fields: object) =>
    postJson<Record<string, never>>(
      `${running.url}/api/v1/chat`,
      { user_id: "ada", session_id: crypto.randomUUID(), message: "hello", ...fields },
      ACME,
    );
  const client = () => openClient(running.url, { apiKey: "key-of-acme" });
  const complete = (model: string) => client().chat.completions.create({ model, user: "ada", messages: [says("hello")] });

  test("answers at its own server with its own key, and the turn names it", async () => {
    const { json } = await chat({ model: "large", session_id: "chosen" });
    expect(json).toMatchObject({ answer: "other", model: "large", cost: { input_usd: 0.0001, output_usd: 0.000002 } });
    expect(json).toMatchObject({ usage: { context_limit: 34_200 } });
    expect(running.other.seen).toMatchObject([{ key: "Bearer key-of-the-other", body: { model: "qwen3:8b" } }]);
    const stored = `${running.url}/api/v1/conversations/${String(json["conversation_id"])}/messages`;
    expect((await callApi<{ messages: object[] }>(stored, { headers: ACME })).json.messages[1]).toMatchObject({
      metadata: { model: "large" },
    });
    expect(await chat({})).toMatchObject({ json: { answer: "own", model: "test-chat", cost: null } });
    expect(running.model.seen).toMatchObject([{ key: "Bearer key-of-the-service", body: { model: "test-chat" } }]);
  });

  test("is a model in OpenAI's protocol, too, even for a front end's own tasks", async () => {
    expect((await complete("large")).choices[0]?.message.content).toBe("other");
    const task = { model: "large", user: "ada", messages: [says("x")], metadata: { task: "title_generation" } };
    expect((await client().chat.completions.create(task)).choices[0]?.message.content).toBe("other");
    expect(running.other.seen).toHaveLength(2);
    expect((await client().models.retrieve("large")).id).toBe("large");
    const refused = await failureOf(complete("nothing"));
    expect(refused).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
    expect(refused.message).toContain("large, test-chat, alone");
  });

  test("must be one of the models that may be chosen", async () => {
    expect(await chat({ model: "keeper" })).toMatchObject({ status: 400 });
    expect(await chat({ model: "nothing" })).toMatchObject({
      status: 400,
      json: {
        error: { code: "invalid_request", details: [{ field: "model", problem: expect.stringContaining("large, test-chat, alone") }] },
      },
    });
    expect(running.model.seen).toEqual([]);
  });

  test("is listed with the known facts about it, and never with its key", async () => {
    const ofUs = await callApi<{ models: object[] }>(`${running.url}/api/v1/models`, { headers: ACME });
    expect(ofUs.json.models).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "test-chat", choosable: true, uses: ["chat", "router", "summary"] }),
        expect.objectContaining({ name: "large", choosable: true, uses: [], context_window: 40_000, prices: PRICES }),
        expect.objectContaining({ name: "alone", choosable: true, context_window: 8_192 }),
      ]),
    );
    expect(ofUs.json.models).toContainEqual(expect.objectContaining({ name: "keeper", choosable: false, uses: ["memory"] }));
    const { data } = await client().models.list();
    expect(data.map(({ id }) => id)).toEqual([MODEL, "large", "test-chat", "alone"]);
    expect(data[1]).toMatchObject({ context_window: 40_000, capabilities: null });
    expect(ofUs.text + JSON.stringify(data)).not.toMatch(/key-of|127\.0\.0\.1/);
  });

  test("goes before the model of an agent, and an agent can be chosen as a model, too", async () => {
    const agents = `${running.url}/api/v1/agents`;
    expect(await putJson(`${agents}/wise`, { description: "x", model: "large" }, ACME)).toMatchObject({ status: 201 });
    for (const model of ["unknown", "keeper"])
      expect(await putJson(`${agents}/unwise`, { description: "x", model }, ACME)).toMatchObject({ status: 400 });
    expect(await chat({ agent: "wise" })).toMatchObject({ json: { answer: "other", model: "large", agent: "wise" } });
    expect(await chat({ agent: "wise", model: "test-chat" })).toMatchObject({ json: { answer: "own", model: "test-chat" } });
    expect((await complete(`${MODEL}/wise`)).choices[0]?.message.content).toBe("other");
    expect((await client().models.list()).data.map(({ id }) => id)).toContain(`${MODEL}/wise`);
    await callApi(`${agents}/wise`, { method: "DELETE", headers: ACME });
  });

  test.each([{ status: 503 }, { status: 429 }, { tokens: [], ending: "cut" as const }])(
    "is replaced by its fallback when its server is away before the first token: %j",
    async (script) => {
      running.model.answer(script);
      expect(await chat({})).toMatchObject({ json: { answer: "other", model: "large", completed: true } });
      expect(running.model.seen.length).toBeLessThanOrEqual(2); // asked again at once, and no more: another is there
      running.model.answer({ tokens: ["back"] });
      expect(await chat({})).toMatchObject({ json: { answer: "back", model: "test-chat" } });
    },
  );

  test("is not replaced after it has begun to answer or has refused the request", async () => {
    running.model.answer({ tokens: ["half "], ending: "cut" });
    expect(await chat({})).toMatchObject({ status: 503, json: { error: { code: "model_interrupted" } } });
    running.model.answer({ status: 400 });
    expect(await chat({})).toMatchObject({ status: 422, json: { error: { code: "model_refused" } } });
    expect(running.other.seen).toEqual([]);
  });

  test("is left alone for a while after its server was away three times in a row, unless it has no fallback", async () => {
    running.other.answer({ status: 503 });
    for (let times = 0; times < 4; times++) expect(await chat({ model: "large" })).toMatchObject({ json: { model: "test-chat" } });
    expect(running.other.seen).toHaveLength(6); // each time once more
    running.model.answer({ status: 503 });
    expect(await chat({ model: "large" })).toMatchObject({ status: 503, json: { error: { code: "model_unavailable" } } });
    expect(await chat({ model: "alone" })).toMatchObject({ status: 503, json: { error: { code: "model_unavailable" } } });
  });
});

describe("the file of MODELS", () => {
  const open = (list: unknown) => createModels(parseConfig({ OPENAI_API_KEY: "k", MODELS: writeModelList(list) }));

  function refusalOf(list: unknown): unknown {
    try {
      return open(list);
    } catch (error) {
      return error;
    }
  }

  test.each<[string, unknown, string]>([
    ["is not JSON", '{"a": {"api_key": "secret-key"', "is not JSON"],
    ["has an unknown field", { a: { url: "x" } }, "url"],
    ["has a wrong base_url", { a: { base_url: "ftp://x", api_key: "secret-key" } }, "a.base_url"],
    ["falls back on an unknown model", { a: { fallback: ["b"] } }, '"b" must be another model'],
    ["falls back on itself", { a: { fallback: ["a"] } }, '"a" must be another model'],
    ["takes the service's own name", { "conversation-graph/a": {} }, "cannot begin with"],
  ])("is refused when it %s, without showing a key", (_what, list, problem) => {
    const refused = refusalOf(list);
    expect(refused).toMatchObject({ code: "invalid_configuration", message: expect.stringContaining(problem) });
    expect(JSON.stringify(refused) + String(refused)).not.toContain("secret-key");
  });

  test("is refused when it cannot be read", () => {
    expect(() => createModels(parseConfig({ OPENAI_API_KEY: "k", MODELS: "/nowhere/models.json" }))).toThrow("cannot be read");
  });
});
