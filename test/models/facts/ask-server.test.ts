import { afterEach, describe, expect, test } from "@jest/globals";
import { makeAskContext } from "../../../models/facts/ask-server.ts";
import { startHttpServer } from "../../servers/http-server.ts";

/** What a server answers, by method and path. */
type Answers = Record<string, unknown>;

const LLAMA_CPP: Answers = {
  "GET /v1/models": { data: [{ id: "small.gguf", meta: { n_ctx: 16_384, n_ctx_train: 131_072 } }] },
  "GET /props": { default_generation_settings: { n_ctx: 8_192 } },
};
const OLLAMA_LIST = { data: [{ id: "other:7b" }, { id: "qwen3:8b" }] };
const shown = (fields: object): object => ({ model_info: { "general.architecture": "qwen3", "qwen3.context_length": 40_960 }, ...fields });

describe("a server tells how long a context it serves", () => {
  const opened: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0)) await close();
  });

  async function ask(answers: Answers, model: string) {
    const { origin, close } = await startHttpServer((request, response) => {
      const answer = answers[`${request.method} ${request.url}`];
      response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? {}));
    });
    opened.push(close);
    return makeAskContext({ url: `${origin}/v1`, apiKey: "key" })(model, AbortSignal.timeout(5_000));
  }

  test.each<[string, Answers, string, unknown]>([
    [
      "vLLM",
      {
        "GET /v1/models": {
          data: [
            { id: "other", max_model_len: 1 },
            { id: "m", max_model_len: 32_768 },
          ],
        },
      },
      "m",
      [32_768, true],
    ],
    ["llama.cpp, of one slot", LLAMA_CPP, "small", [8_192, true]],
    ["llama.cpp without /props", { "GET /v1/models": LLAMA_CPP["GET /v1/models"] }, "small", [16_384, true]],
    [
      "Ollama, as set",
      { "GET /api/ps": { models: [] }, "POST /api/show": shown({ parameters: 'stop "<|im_end|>"\nnum_ctx                        16384' }) },
      "m",
      [16_384, true],
    ],
    [
      "Ollama, as loaded",
      {
        "GET /v1/models": OLLAMA_LIST,
        "POST /api/show": shown({}),
        "GET /api/ps": { models: [{ name: "qwen3:8b", context_length: 4_096 }] },
      },
      "qwen3:8b",
      [4_096, true],
    ],
    ["Ollama, as trained, until it is loaded", { "POST /api/show": shown({}), "GET /api/ps": { models: [] } }, "m", [40_960, false]],
  ])("%s", async (_, answers, model, expected) => {
    const told = await ask(answers, model);
    expect([told?.tokens, told?.isFirm]).toEqual(expected);
  });

  test.each<[string, Answers]>([
    ["has no such routes", {}],
    ["lists models without their contexts", { "GET /v1/models": { data: [{ id: "m", object: "model" }] } }],
    ["is no Ollama, which would tell what it has loaded", { "POST /api/show": shown({}) }],
    ["answers something else", { "GET /v1/models": "hello", "GET /props": [1], "POST /api/show": null, "GET /api/ps": 7 }],
  ])("or does not, when it %s", async (_, answers) => {
    expect(await ask(answers, "m")).toBeNull();
  });

  test("and counts as away when it cannot be reached", async () => {
    await expect(makeAskContext({ url: "http://127.0.0.1:1/v1", apiKey: undefined })("m", AbortSignal.timeout(5_000))).rejects.toThrow();
  });
});
