import { describe, expect, test } from "@jest/globals";
import { saidBy, summaryWithoutThought, toSaid } from "../../../../stores/postgres/conversations/said-by.ts";
import { estimateTokens } from "../../../../text/tokens.ts";

const TAGGED = "<think>The user lives in Linz.</think>\n\nHello!";

describe("what a stored message says", () => {
  test.each([
    ["assistant", TAGGED, "Hello!"],
    ["assistant", "[THINK]The user lives in Linz.[/THINK]Hello!", "Hello!"],
    ["assistant", "The user lives in Linz.\n</think>\n\nHello!", "Hello!"],
    ["assistant", "<|channel|>analysis<|message|>Linz?<|end|><|start|>assistant<|channel|>final<|message|>Hello!", "Hello!"],
    ["assistant", "<think>The user lives in Linz.", ""],
    ["assistant", "Models write `<think>` and `</think>`.", "Models write `<think>` and `</think>`."],
    ["user", TAGGED, TAGGED],
  ] as const)("of the %s with %j is %j", (role, content, said) => expect(saidBy(role, content)).toBe(said));

  test("counts by what is left; a row with nothing to take out stays the same one", () => {
    const plain = { role: "assistant" as const, content: "Hello!", tokenCount: 99 };
    expect(toSaid(plain)).toBe(plain);
    expect(toSaid({ ...plain, id: "1", content: TAGGED })).toEqual({ ...plain, id: "1", tokenCount: estimateTokens("Hello!") });
  });
});

test.each([
  ["<think>What did they say?</think>\n\nThey met.", "They met."],
  ["They asked what </think> means.", "They asked what </think> means."],
  ["<think>What did they say?", "<think>What did they say?"],
  ["", ""],
])("the summary %j says %j", (stored, said) => expect(summaryWithoutThought(stored)).toBe(said));
