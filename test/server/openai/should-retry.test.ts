import { beforeEach, describe, expect, test } from "@jest/globals";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";
import OpenAI from "openai";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { failureOf, MODEL, says } from "./open-client.ts";

describe("an error of OpenAI's protocol", () => {
  const running = useServiceWithModel();
  let answers: { status: number; shouldRetry: string | null }[] = [];
  beforeEach(() => {
    answers = [];
  });

  const counting: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    answers.push({ status: response.status, shouldRetry: response.headers.get("x-should-retry") });
    return response;
  };
  const client = () => new OpenAI({ baseURL: `${running.url}/v1`, apiKey: "none", maxRetries: 2, fetch: counting });
  const create = (fields: object = {}) =>
    client().chat.completions.create({ model: MODEL, user: "ada", messages: [says("hello")], ...fields });

  test.each([
    [400, "model_refused"],
    [401, "model_unauthorized"],
    [402, "model_quota"],
  ])("whose model answers %s comes once, as clients do not repeat it", async (status, code) => {
    running.model.answer({ status });
    expect(await failureOf(create())).toMatchObject({ status: 422, code });
    expect(answers).toEqual([{ status: 422, shouldRetry: "false" }]);
    const openai = createOpenAI({ baseURL: `${running.url}/v1`, apiKey: "none", fetch: counting });
    answers = [];
    await expect(generateText({ model: openai.chat(MODEL), prompt: "hello", maxRetries: 2 })).rejects.toThrow();
    expect(answers).toEqual([{ status: 422, shouldRetry: "false" }]);
  });

  test.each<[string, object, number]>([
    ["a wrong field", { temperature: "hot" }, 400],
    ["an unknown model", { model: "gpt-4" }, 404],
  ])("about %s is not to be repeated", async (_what, fields, status) => {
    await failureOf(create(fields));
    expect(answers).toEqual([{ status, shouldRetry: "false" }]);
  });

  test("that may be gone the next time is repeated", async () => {
    running.model.answer({ status: 503 });
    expect(await failureOf(create())).toMatchObject({ status: 503 });
    expect(answers).toEqual(Array.from({ length: 3 }, () => ({ status: 503, shouldRetry: null })));
  }, 30_000);
});
