import { describe, expect, test } from "@jest/globals";
import { canonicalModelName, findKnownModel } from "../../../models/facts/find-known-model.ts";
import { type AskContext, makeModelFacts, type ModelProfile } from "../../../models/facts/model-facts.ts";
import { budgetOf, costOf } from "../../../models/facts/prompt-budget.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("a known model", () => {
  test.each([
    ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    ["anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
    ["qwen/qwen3-32b:free", "qwen3-32b"],
    ["Qwen/Qwen3-32B", "qwen3-32b"],
    ["gpt-4o-2024-11-20", "gpt-4o"],
  ])("is found under the names that makers and resellers give it: %s", (name, canonical) => {
    expect(canonicalModelName(name)).toBe(canonical);
    expect(findKnownModel(name)?.context).toBeGreaterThan(32_000);
  });

  test.each(["qwen3-32b", "deepseek-chat", "claude-sonnet-4-5", "gemini-2.5-pro", "gpt-4o-mini"])(
    "%s takes more than 8,192 tokens",
    (name) => {
      const facts = makeModelFacts({ profiles: {}, ask: null }).of(name);
      expect(facts).toMatchObject({ prices: null, sources: { context_window: "profile", capabilities: "profile" } });
      expect(facts.context_window).toBeGreaterThan(32_000);
    },
  );
});

describe("facts of a model", () => {
  const told =
    (tokens: number): AskContext =>
    async () => ({ tokens, isFirm: true });

  async function factsOf(name: string, profile: ModelProfile | null, ask: AskContext | null) {
    const facts = makeModelFacts({ profiles: profile ? { [name]: profile } : {}, ask });
    facts.of(name);
    await new Promise(setImmediate);
    return facts.of(name);
  }

  test.each<[string, string, ModelProfile | null, AskContext | null, number, string]>([
    ["the operator's file goes before all", "gpt-4o-mini", { context_window: 16_000 }, told(4_096), 16_000, "file"],
    ["its server goes before what is published", "gpt-4o-mini", { max_output_tokens: 100 }, told(4_096), 4_096, "server"],
    ["what is published counts where its server does not tell", "gpt-4o-mini", null, async () => null, 128_000, "profile"],
    ["8,192 are assumed when nobody knows", "my-own-model", null, async () => null, 8_192, "assumed"],
  ])("have the context and its source: %s", async (_, name, profile, ask, tokens, source) => {
    expect(await factsOf(name, profile, ask)).toMatchObject({ context_window: tokens, sources: { context_window: source } });
  });

  test("are there at once while a server is silent, which is asked once, and once more after it was away", async () => {
    let asked = 0;
    let answer: () => Promise<null> = () => Promise.reject(new Error("away"));
    const ask: AskContext = () => {
      asked++;
      return answer();
    };
    const facts = makeModelFacts({ profiles: {}, ask, askAgainMs: 20 });
    expect(facts.of("m").context_window).toBe(8_192);
    expect(facts.of("m").context_window).toBe(8_192);
    expect(asked).toBe(1);
    answer = async () => null;
    await waitUntil("the second question", () => facts.of("m") && asked === 2);
    await new Promise((resolve) => setTimeout(resolve, 60));
    facts.of("m");
    expect(asked).toBe(2);
  });

  test("are asked for again while a server tells only how long a context the model was trained for", async () => {
    const answers = [
      { tokens: 131_072, isFirm: false },
      { tokens: 4_096, isFirm: true },
    ];
    const facts = makeModelFacts({ profiles: {}, ask: async () => answers.shift() ?? null, askAgainMs: 1 });
    await waitUntil("what it was loaded with", () => facts.of("m").context_window === 4_096);
    expect(answers).toEqual([]);
  });

  test("say once that a context is assumed, when a turn needs it", () => {
    const heard: string[] = [];
    const facts = makeModelFacts({ profiles: {}, ask: null, onAssumed: (model) => void heard.push(model) });
    facts.of("m");
    expect(heard).toEqual([]);
    for (const name of ["m", "m", "gpt-4o"]) facts.forTurn(name);
    expect(heard).toEqual(["m"]);
  });
});

describe("of the context", () => {
  const factsWith = (context_window: number) => makeModelFacts({ profiles: { m: { context_window } }, ask: null }).of("m");

  test("nine tenths of what the longest answer leaves are for a prompt, and it never takes more than its share", () => {
    expect(budgetOf(factsWith(32_768), { longestAnswer: 2_000 })).toBe(27_691);
    expect(budgetOf(factsWith(2_048), { longestAnswer: 2_000 })).toBe(Math.floor(2_048 * 0.85 * 0.9));
    expect(budgetOf(factsWith(2_048), { longestAnswer: 2_000, outputShare: 50 })).toBe(Math.floor(1_024 * 0.9));
  });

  test("nine tenths are for a prompt when it is only assumed", () => {
    expect(budgetOf(makeModelFacts({ profiles: {}, ask: null }).of("m"), { longestAnswer: 2_000 })).toBe(7_372);
  });
});

describe("the cost of a turn", () => {
  const used = { prompt_tokens: 1_000_000, completion_tokens: 500_000, cached_tokens: 400_000, estimated: false };

  test("is what the prices say, cached tokens by their own price where there is one", () => {
    expect(costOf({ input: 2, output: 8, cached_input: 0.5 }, used)).toEqual({ input_usd: 1.4, output_usd: 4 });
    expect(costOf({ input: 2, output: 8 }, used)).toEqual({ input_usd: 2, output_usd: 4 });
    expect(costOf({ input: 2, output: 8, cached_input: 0.5 }, { ...used, cached_tokens: null })).toEqual({ input_usd: 2, output_usd: 4 });
  });

  test("is null without prices, or when nobody counted the tokens", () => {
    expect(costOf(null, used)).toBeNull();
    expect(costOf({ input: 2, output: 8 }, { ...used, estimated: true })).toBeNull();
  });
});
