import { describe, expect, test } from "@jest/globals";
import { contextTokenBudget, createOpenAIChatModel } from "../../models/openai-chat-model.ts";

describe("contextTokenBudget", () => {
  test("is nine tenths of what a known model takes", () => {
    const model = createOpenAIChatModel({ model: "gpt-4o-mini" });
    expect(model.profile.maxInputTokens).toBe(128_000);
    expect(contextTokenBudget(model)).toBe(115_200);
  });

  test("leaves room for the longest answer in the context of a known model, at most its share of it", () => {
    expect(contextTokenBudget(createOpenAIChatModel({ model: "gpt-4o-mini", maxTokens: 2_000 }))).toBe(113_400);
    expect(contextTokenBudget(createOpenAIChatModel({ model: "gpt-4o-mini", maxTokens: 100_000 }))).toBe(97_920);
  });

  test.each([undefined, 2_000])("is small for a model that nobody knows, whatever an answer may take (%p)", (maxTokens) => {
    expect(contextTokenBudget(createOpenAIChatModel({ model: "my-own-model", baseUrl: "http://127.0.0.1:1/v1", maxTokens }))).toBe(7_372);
  });
});
