import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, test } from "@jest/globals";
import { OpenAIEmbeddings } from "@langchain/openai";
import { embedMany } from "ai";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { postJson } from "../../support/clients/api-client.ts";
import { openTestService, useTestService } from "../../support/services/service.ts";
import { failureOf, openClient } from "./open-client.ts";

const TEXTS = ["I live in Porto", "我住在波尔图"];
const lengthOf = (vector: readonly number[]): number => Math.hypot(...vector);

describe("embeddings with the official client", () => {
  const service = useTestService({ ENABLE_EPISODIC_MEMORY: "true" });
  const embedder = makeHashedEmbedder({});
  const create = (fields: object) => openClient(service.url).embeddings.create({ model: "any", input: TEXTS, ...fields });

  test("are those of the service's embedder, in the order of the texts, as numbers and as base64", async () => {
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

  test("have as many dimensions as are asked for, at length 1", async () => {
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
  ])("with %s are a bad request that names the field", async (_what, fields, param) => {
    const refused = await postJson<{ error: { param: string } }>(`${service.url}/v1/embeddings`, { model: "any", input: TEXTS, ...fields });
    expect(refused.status).toBe(400);
    expect(refused.json.error.param).toMatch(new RegExp(`^${param}`));
  });

  test("are read by LangChain and by the AI SDK", async () => {
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

  test("say so when the service has no embedder", async () => {
    const without = await openTestService();
    const call = openClient(without.url).embeddings.create({ model: "any", input: "x" });
    expect(await failureOf(call)).toMatchObject({ status: 503, code: "embedder_unavailable" });
    await without.close();
  });
});
