import { describe, expect, test } from "@jest/globals";
import { postJson, putJson } from "../../../support/clients/api-client.ts";
import { calls, useAgentService } from "./agent-service.ts";

const { opened, makeAgent, ask } = useAgentService({ SUMMARY_MIN_MESSAGES: "2", SUMMARY_UPDATE_DELTA: "1", HISTORY_WINDOW: "0" });

describe("a turn with a thought and a call", () => {
  test("tells them in their order, and nothing of them reaches the memory agent or the summary", async () => {
    await makeAgent("counter", { tools: ["calculate"] });
    opened.model.answer(({ model, messages }) => {
      if (model !== "test-chat") return { tokens: ["nothing"] };
      return messages.at(-1)?.role === "tool"
        ? { thoughts: ["a second thought"], tokens: ["It is ", "what was asked."] }
        : { thoughts: ["a first thought"], tokens: ["Let me count. "], toolCalls: [calls("calculate", { expression: "987654321*1" })] };
    });
    const { events, of, done } = await ask("counter", "How much is the question?");
    const order = ["thought", "token", "tool_call", "tool_result", "thought", "token", "token", "done"];
    expect(events.filter((status) => order.includes(status))).toEqual(order);
    expect(events.filter((status) => ["done", "error", "waiting"].includes(status))).toEqual(["done"]);
    expect(of("thought")).toEqual(["a first thought", "a second thought"]);
    await postJson(`${opened.url}/api/v1/conversations/${done?.conversation_id}/settle`, undefined);
    const read = opened.model.seen
      .filter(({ body: { model } }) => model === "test-memory")
      .map(({ body }) => JSON.stringify(body.messages));
    for (const purpose of [read.filter((text) => text.includes("core memory")), read.filter((text) => text.includes("summar"))]) {
      expect(purpose.length).toBeGreaterThan(0);
      expect(purpose.join()).toContain("How much is the question?");
    }
    expect(read.join()).toContain("what was asked.");
    expect(read.join()).not.toMatch(/987654321|thought/);
  });

  test("searches no knowledge base when its agent has none", async () => {
    await putJson(`${opened.url}/api/v1/knowledge/teas`, { description: "Teas of the house", keywords: ["tea"] });
    opened.model.answer(() => ({ tokens: ["nothing"] }));
    await makeAgent("without", { knowledge: null });
    await makeAgent("open", {});
    const [without] = (await ask("without", "Which tea is there?")).of("route_decision");
    const [open] = (await ask("open", "Which tea is there?")).of("route_decision");
    expect([without?.kb_prefix, open?.kb_prefix]).toEqual(["general", "teas"]);
  });
});
