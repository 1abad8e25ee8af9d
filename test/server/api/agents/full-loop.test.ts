import { describe, expect, test } from "@jest/globals";
import { calls, useAgentService } from "./agent-service.ts";

const LIMIT = 1_500;

describe("a loop that takes more than the model's limit by itself", () => {
  const { follow, makeAgent, ask } = useAgentService({ CONTEXT_TOKEN_BUDGET: `${LIMIT}` });

  test("names that limit in its notices, and no number below 0 anywhere", async () => {
    await makeAgent("counting", { tools: ["calculate"] });
    follow("It is long.");
    await ask("counting", "tell me about the mountains ".repeat(60), "full-loop");
    follow([calls("calculate", { expression: `1${"+1".repeat(4_000)}` })], "Done.");
    const { of, done } = await ask("counting", "Count.", "full-loop");
    expect(done).toMatchObject({ answer: "Done." });
    const told = of("notice").filter(({ code }) => code === "context_trimmed");
    expect(told.length).toBeGreaterThan(0);
    for (const { message } of told) expect(message).toContain(`its limit of ${LIMIT} tokens`);
    expect(JSON.stringify([of("notice"), of("context_compressed")])).not.toMatch(/-\d/);
  });
});
