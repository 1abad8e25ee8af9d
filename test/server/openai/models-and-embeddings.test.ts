import { beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, postJson, putJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { useTestService, openTestService } from "../../support/services/service.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";
import { createOpenAI } from "@ai-sdk/openai";
import { OpenAIEmbeddings } from "@langchain/openai";
import { embedMany } from "ai";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";

const ACME = { authorization: "Bearer key-of-acme" };
describe("the listed models", () => {
  const service = useTestService({ API_KEYS: "key-of-acme:acme,key-of-globex:globex" });
  beforeAll(() => putJson(`${service.url}/api/v1/knowledge/travel`, { description: "trains and planes" }, ACME));
  const acme = () => openClient(service.url, { apiKey: "key-of-acme" });

  test("are one for the service and one for each knowledge base of the tenant", async () => {
    const facts = { created: expect.any(Number), context_window: 8_192, max_output_tokens: null, capabilities: null };
    expect((await acme().models.list()).data).toEqual([
      { id: MODEL, object: "model", owned_by: MODEL, ...facts },
      { id: `${MODEL}/travel`, object: "model", owned_by: MODEL, ...facts },
    ]);
    expect((await openClient(service.url, { apiKey: "key-of-globex" }).models.list()).data.map(({ id }) => id)).toEqual([MODEL]);
  });

  test("can be read one by one, with the slash in their name plain or encoded", async () => {
    expect((await acme().models.retrieve(MODEL)).id).toBe(MODEL);
    expect((await acme().models.retrieve(`${MODEL}/travel`)).id).toBe(`${MODEL}/travel`);
    const plain = await callApi<{ id: string }>(`${service.url}/v1/models/${MODEL}/travel`, { headers: ACME });
    expect(plain.json.id).toBe(`${MODEL}/travel`);
  });

  test("choose the knowledge base of a turn", async () => {
    const answer = await acme().chat.completions.create({ model: `${MODEL}/travel`, user: "ada", messages: [says("a plane, please")] });
    expect(answer.model).toBe(`${MODEL}/travel`);
    const turn = { user_id: "ada", session_id: "same", message: "a plane, please", kb_prefix: "travel" };
    const { events } = await postTurn(service.url, turn, { headers: ACME });
    expect(answer.choices[0]?.message.content).toBe(contentOf(events, "done").answer);
  });

  test.each(["gpt-4o", `${MODEL}/nothing`, "conversation-graph/", ""])("do not include %p, which is not found", async (model) => {
    const refused = await failureOf(acme().chat.completions.create({ model, user: "ada", messages: [says("hello")] }));
    expect(refused).toMatchObject({ status: 404, code: "model_not_found", param: "model", type: "invalid_request_error" });
    expect(refused.message).toContain(`${MODEL}/travel`);
  });

  test("do not include another tenant's models, which are not found", async () => {
    const globex = openClient(service.url, { apiKey: "key-of-globex" });
    const refused = await failureOf(globex.chat.completions.create({ model: `${MODEL}/travel`, user: "ada", messages: [says("hello")] }));
    expect(refused).toMatchObject({ status: 404, code: "model_not_found" });
    expect(refused.message).not.toContain("there are conversation-graph/travel");
    expect((await failureOf(globex.models.retrieve(`${MODEL}/travel`))).status).toBe(404);
  });
});
// The read shares its statement with that of the agents.
const LISTED = /^conversation_graph_postgres_statement_duration_seconds_count\{statement="[^"]*knowledge-list[^"]*"\}$/;
const HINT = { "x-task": "title_generation" };
describe("all knowledge bases are listed", () => {
  const service = useTestService();
  beforeAll(() => putJson(`${service.url}/api/v1/knowledge/travel`, { description: "trains and planes" }));

  const listings = async (): Promise<number> => {
    const counts = [...(await readMetrics(service.url)).samples].filter(([name]) => LISTED.test(name));
    return counts.reduce((sum, [, count]) => sum + count, 0);
  };
  const complete = (model: string, headers: Record<string, string> = {}) =>
    postJson(`${service.url}/v1/chat/completions`, { model, user: "ada", messages: [{ role: "user", content: "a plane" }] }, headers);
  const chat = (kb_prefix: string | null) =>
    postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: crypto.randomUUID(), message: "a plane", kb_prefix });

  test.each([
    ["once for a completion, by its routing", () => complete(MODEL), 200, 1],
    ["once for a completion with one of them", () => complete(`${MODEL}/travel`), 200, 1],
    ["once for a turn", () => chat(null), 200, 1],
    ["once for a turn that asks for one of them", () => chat("travel"), 200, 1],
    ["once for a turn that asks for none", () => chat("general"), 200, 1],
    ["not for a front end's own task", () => complete(MODEL, HINT), 200, 0],
    ["not for a front end's own task with one of them", () => complete(`${MODEL}/travel`, HINT), 200, 0],
    ["not for a request about one model", () => callApi(`${service.url}/v1/models/${MODEL}/travel`), 200, 0],
    ["once for an unknown model, to name the known ones", () => complete(`${MODEL}/nothing`), 404, 1],
    ["once for a model's name that no database takes", () => complete(`${MODEL}/\0`), 404, 1],
    ["once for an unknown base, to name the known ones", () => chat("nothing"), 400, 1],
  ])("%s", async (_, ask, status, times) => {
    const before = await listings();
    const answer = await ask();
    expect(answer).toMatchObject({ status });
    if (status !== 200) expect(answer.text).toContain("travel");
    expect((await listings()) - before).toBe(times);
  });
});

const TEXTS = ["I live in Porto", "我住在波尔图"];
const lengthOf = (vector: readonly number[]): number => Math.hypot(...vector);
describe("embeddings with the official client", () => {
  const service = useTestService({ ENABLE_EPISODIC_MEMORY: "true" });
  const embedder = makeHashedEmbedder({});
  const create = (fields: object) => openClient(service.url).embeddings.create({ model: "any", input: TEXTS, ...fields });

  test("come from the service's embedder in the order of the texts, as numbers or as base64", async () => {
    const expected = await embedder.embedPassages(TEXTS);
    for (const encoding_format of [undefined, "float", "base64"] as const) {
      const { data, model, usage } = await create(encoding_format ? { encoding_format } : {});
      expect(model).toBe(embedder.name);
      expect(usage.prompt_tokens).toBeGreaterThan(0);
      expect(data.map(({ index }) => index)).toEqual([0, 1]);
      for (const [place, { embedding }] of data.entries()) {
        const vector =
          typeof embedding === "string" ? [...new Float32Array(Uint8Array.from(Buffer.from(embedding, "base64")).buffer)] : embedding;
        expect(vector).toHaveLength(embedder.dimensions);
        vector.forEach((value, index) => expect(value).toBeCloseTo(expected[place]?.[index] ?? NaN, 6));
      }
    }
    expect((await create({ input: "one text" })).data).toHaveLength(1);
  });

  test("have as many dimensions as the client asks for, at length 1", async () => {
    const { data } = await create({ dimensions: embedder.dimensions - 1 });
    for (const { embedding } of data) {
      expect(embedding).toHaveLength(embedder.dimensions - 1);
      expect(lengthOf(embedding)).toBeCloseTo(1, 5);
    }
    const refused = await failureOf(create({ dimensions: 100_000 }));
    expect(refused).toMatchObject({ status: 400, param: "dimensions", message: expect.stringContaining(String(embedder.dimensions)) });
  });

  test.each([
    ["no input", { input: undefined }, "input"],
    ["no text", { input: [] }, "input"],
    ["a blank text", { input: ["x", " "] }, "input"],
    ["tokens", { input: [1, 2, 3] }, "input"],
    ["an unknown encoding", { encoding_format: "hex" }, "encoding_format"],
  ])("with %s are refused as a bad request that names the field", async (_what, fields, param) => {
    const refused = await postJson<{ error: { param: string } }>(`${service.url}/v1/embeddings`, { model: "any", input: TEXTS, ...fields });
    expect(refused.status).toBe(400);
    expect(refused.json.error.param).toMatch(new RegExp(`^${param}`));
  });

  test("can be read by LangChain and by the AI SDK", async () => {
    const [expected] = await embedder.embedPassages(TEXTS);
    const langchain = new OpenAIEmbeddings({
      model: "any",
      apiKey: "none",
      maxRetries: 0,
      configuration: { baseURL: `${service.url}/v1` },
    });
    expect((await langchain.embedDocuments(TEXTS))[0]?.[0]).toBeCloseTo(expected?.[0] ?? NaN, 5);
    const model = createOpenAI({ baseURL: `${service.url}/v1`, apiKey: "none" }).embedding("any");
    const { embeddings } = await embedMany({ model, values: TEXTS, maxRetries: 0 });
    expect(embeddings).toHaveLength(2);
    expect(embeddings[0]?.[0]).toBeCloseTo(expected?.[0] ?? NaN, 5);
  });

  test("are refused with the reason when the service has no embedder", async () => {
    const without = await openTestService();
    const call = openClient(without.url).embeddings.create({ model: "any", input: "x" });
    expect(await failureOf(call)).toMatchObject({ status: 503, code: "embedder_unavailable" });
    await without.close();
  });
});
