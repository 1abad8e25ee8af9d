import { expect, test } from "@jest/globals";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { NOOP_OBSERVER } from "../../../observe/observer.ts";
import { answerTask } from "../../../server/openai/answer-task.ts";

test("a front end's task that throws ends its answer with an error and gives its place back", async () => {
  const schema = {
    toJSON() {
      throw new RangeError("no stack left");
    },
  };
  const request = {
    task: "title" as const,
    messages: [{ role: "user" as const, text: "x", images: [], otherParts: [] }],
    structured: { schema, properties: [], tool: null },
    modelOptions: {},
    signal: new AbortController().signal,
  };
  const model = new FakeListChatModel({ responses: ["x"] });
  const taskModel = { model, timeouts: { firstTokenMs: 1_000, idleMs: 1_000 }, observer: NOOP_OBSERVER };
  let ends = 0;
  const permit = { addTokens: () => undefined, release: () => void ends++ };
  const events = [];
  for await (const batch of answerTask(taskModel, request, permit)) events.push(...batch);
  expect(events).toMatchObject([{ kind: "error", error: { code: "internal_error" } }]);
  expect(ends).toBe(1);
});
