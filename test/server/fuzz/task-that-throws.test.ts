import { expect, test } from "@jest/globals";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { answerTask } from "../../../server/openai/answer-task.ts";

test("a front end's task that throws ends its answer with an error, and nothing else", async () => {
  const schema = {
    toJSON() {
      throw new RangeError("no stack left");
    },
  };
  const request = {
    task: "title" as const,
    messages: [{ role: "user" as const, text: "x", otherParts: [] }],
    structured: { schema, properties: [], tool: null },
    signal: new AbortController().signal,
  };
  const model = new FakeListChatModel({ responses: ["x"] });
  const events = [];
  for await (const batch of answerTask({ model, timeouts: { firstTokenMs: 1_000, idleMs: 1_000 } }, request, () => undefined)) {
    events.push(...batch);
  }
  expect(events).toMatchObject([{ kind: "error", error: { code: "internal_error" } }]);
});
