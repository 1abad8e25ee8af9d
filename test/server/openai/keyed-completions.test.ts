import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, messagesOf } from "../../support/clients/api-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { MODEL, says } from "./open-client.ts";

interface Completion {
  id: string;
  choices: { message: { content: string } }[];
}

describe("a completion with an Idempotency-Key", () => {
  let running: ServiceWithModel;
  let session: string;
  let key: string;
  beforeAll(async () => {
    running = await openServiceWithModel();
  });
  afterAll(() => running.close());
  beforeEach(() => {
    [session, key] = [uuidv7(), uuidv7()];
    running.model.answer({ tokens: ["one ", "two"] });
    running.model.seen.splice(0);
  });

  const ask = (text: string, fields: object = {}) =>
    callApi<Completion>(`${running.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-session-id": session, "idempotency-key": key },
      body: JSON.stringify({ model: MODEL, user: "ada", messages: [says(text)], ...fields }),
    });
  const stream = async (text: string): Promise<{ id: string; text: string; frames: string }> => {
    const response = await fetch(`${running.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-session-id": session, "idempotency-key": key },
      body: JSON.stringify({ model: MODEL, user: "ada", stream: true, messages: [says(text)] }),
    });
    const frames = await response.text();
    const chunks = [...frames.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json ?? "") as StreamedChunk);
    return { id: chunks[0]?.id ?? "", text: chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), frames };
  };

  test("is the same turn for requests at once and afterwards, streamed or whole", async () => {
    running.model.answer({ tokens: ["one ", "two"], betweenMs: 200 });
    const [whole, streamed] = await Promise.all([ask("hello"), stream("hello")]);
    const later = [await ask("hello"), await stream("hello")] as const;
    expect(whole.json.choices[0]?.message.content).toBe("one two");
    expect([streamed.text, later[1].text, later[0].json.choices[0]?.message.content]).toEqual(["one two", "one two", "one two"]);
    expect(new Set([whole.json.id, streamed.id, later[0].json.id, later[1].id]).size).toBe(1);
    expect(streamed.frames.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(running.model.seen).toHaveLength(1);
    expect(await messagesOf(running.url, "ada", session)).toHaveLength(2);
  });

  test.each([{}, { stream: true }])("is refused with another body, in OpenAI's shape, and nothing is stored: %p", async (fields) => {
    await ask("hello");
    const refused = await ask("something else", fields);
    expect(refused).toMatchObject({
      status: 422,
      json: {
        error: {
          type: "invalid_request_error",
          code: "idempotency_mismatch",
          param: null,
          message: expect.stringMatching(/Idempotency-Key/),
        },
      },
    });
    expect(await messagesOf(running.url, "ada", session)).toHaveLength(2);
  });

  test("is refused with another body while the first is on its way, too", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    running.model.answer({ tokens: ["one"], until: released });
    const first = ask("hello");
    await waitUntil("the model to be asked", () => running.model.seen.length === 1);
    expect((await ask("something else")).status).toBe(422);
    release();
    expect((await first).status).toBe(200);
  });

  test("is refused when its key is none, by its name", async () => {
    key = "two words";
    expect(await ask("hello")).toMatchObject({ status: 400, json: { error: { type: "invalid_request_error", param: "Idempotency-Key" } } });
  });

  test("runs again when it failed, for the stored message", async () => {
    running.model.answer({ tokens: ["half "], ending: "cut" });
    expect((await ask("hello")).status).toBe(503);
    running.model.answer({ tokens: ["whole"] });
    expect((await ask("hello")).json.choices[0]?.message.content).toBe("whole");
    expect((await messagesOf(running.url, "ada", session)).map(({ content }) => content)).toEqual(["hello", "half ", "whole"]);
  });
});

interface StreamedChunk {
  id: string;
  choices: { delta: { content?: string } }[];
}
