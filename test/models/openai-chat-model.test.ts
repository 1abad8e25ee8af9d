import { describe, expect, test } from "@jest/globals";
import { contextTokenBudget, createOpenAIChatModel } from "../../models/openai-chat-model.ts";

describe("contextTokenBudget", () => {
  test("is nine tenths of what a known model takes", () => {
    const model = createOpenAIChatModel({ model: "gpt-4o-mini" });
    expect(model.profile.maxInputTokens).toBe(128_000);
    expect(contextTokenBudget(model)).toBe(115_200);
  });

  test("is small for a model that nobody knows", () => {
    expect(contextTokenBudget(createOpenAIChatModel({ model: "my-own-model", baseUrl: "http://127.0.0.1:1/v1" }))).toBe(7_372);
  });
});
