import type OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { messagesOf } from "../../support/clients/api-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { askingClient, callOf, ORDER_TOOLS, ordered } from "../../support/services/asking-agent.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { failureOf, openClient, says } from "./open-client.ts";

const MODEL = "conversation-graph/clerk";
const TEA = { item: "tea" };

describe("an agent that asks, with the official client", () => {
  const database = useTestPostgres();
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }, { extras: { tools: ORDER_TOOLS } }));
  let client: ReturnType<typeof askingClient>;
  let sessions = 0;
  let openai: OpenAI;
  let session: string;
  beforeEach(async () => {
    ordered.length = 0;
    client = askingClient(running);
    await client.makeAgent("clerk");
    client.follow([callOf("order", TEA)], "Ordered.");
    session = `openai-${sessions++}`;
    openai = openClient(running.url, { headers: { "X-Session-Id": session, "X-User-Id": "ada" } });
  });

  async function say(message: string, history: ChatCompletionMessageParam[] = [], headers: Record<string, string> = {}) {
    const completion = await openai.chat.completions.create({ model: MODEL, messages: [...history, says(message)] }, { headers });
    const [choice] = completion.choices;
    return { id: completion.id, text: choice?.message.content ?? "", reason: choice?.finish_reason };
  }

  test.each([
    ["Order tea, please", "yes", /^May the agent "clerk" call "order".*"item": "tea".*1\. allow this call/s, 1],
    ["请订茶", "可以", /^智能体“clerk”想.*“order”.*"item": "tea".*1\. 允许这一次/s, 1],
    ["Order some tea", "No.", /^May the agent/, 0],
    ["Order tea now", "What does it cost?", /^May the agent/, 0],
  ])("after %j asks its question in words, and the next message %j answers it", async (message, reply, words, runs) => {
    const asked = await say(message);
    expect([asked.text, asked.reason]).toEqual([expect.stringMatching(words), "stop"]);
    expect(ordered).toEqual([]);
    const answered = await say(reply, [says(message), { role: "assistant", content: asked.text }]);
    expect([answered.text, answered.reason]).toEqual(["Ordered.", "stop"]);
    expect(answered.id).not.toBe(asked.id);
    expect(ordered).toHaveLength(runs);
    if (reply.endsWith("?")) expect(JSON.stringify(running.model.seen.at(-1)?.body.messages)).toContain(reply);
    // The question and the reply are no messages: the turn has one message and one answer.
    expect((await messagesOf(running.url, "ada", session)).map(({ content }) => content)).toEqual([message, "Ordered."]);
  });

  test("shows what the model said before its question, and streams all of it", async () => {
    running.model.answer(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? { tokens: ["Tea ", "is ordered."] }
        : { tokens: ["One moment."], toolCalls: [callOf("order", TEA)] },
    );
    const stream = openai.chat.completions.stream({ model: MODEL, messages: [says("Order tea")] });
    expect(await stream.finalContent()).toMatch(/^One moment\.\n\nMay the agent "clerk"/);
    const second = openai.chat.completions.stream({ model: MODEL, messages: [says("yes")] });
    expect(await second.finalContent()).toBe("Tea is ordered.");
    expect(ordered).toHaveLength(1);
  });

  test("asks about one call after the other", async () => {
    client.follow([callOf("order", TEA, "a"), callOf("order", { item: "milk" }, "b")], "Done.");
    expect((await say("Order tea and milk")).text).toContain('"tea"');
    expect((await say("yes")).text).toContain('"milk"');
    expect((await say("no")).text).toBe("Done.");
    expect(ordered).toEqual(['{"item":"tea"}']);
  });

  test("asks nobody with X-Interactive: false or in a response that is not stored", async () => {
    expect((await say("Order tea", [], { "X-Interactive": "false" })).text).toBe("Ordered.");
    const response = await openai.responses.create({ model: MODEL, input: "Order tea", store: false });
    expect(response.output_text).toBe("Ordered.");
    expect(ordered).toEqual([]);
    expect(await client.open()).toEqual([]);
  });

  test("goes on over the Responses API, where stored responses keep the question", async () => {
    const asked = await openai.responses.create({ model: MODEL, input: "Order tea" });
    expect([asked.status, asked.output_text]).toEqual(["completed", expect.stringMatching(/^May the agent/)]);
    expect((await openai.responses.retrieve(asked.id)).output).toEqual(asked.output);
    const answered = await openai.responses.create({ model: MODEL, input: "yes", previous_response_id: asked.id });
    expect(answered.output_text).toBe("Ordered.");
    expect(answered.id).not.toBe(asked.id);
    expect(ordered).toHaveLength(1);
    expect((await openai.responses.retrieve(asked.id)).output).toMatchObject([
      { type: "message", content: [{ text: expect.any(String) }] },
    ]);
    expect((await openai.responses.retrieve(answered.id)).output_text ?? "").toMatch(/^(Ordered\.)?$/);
  });

  test("takes no message of another user and no message without an open question as a reply", async () => {
    await say("Order tea");
    const eve = openClient(running.url, { headers: { "X-Session-Id": session, "X-User-Id": "eve" } });
    client.follow("Nothing to do.");
    const other = await eve.chat.completions.create({ model: MODEL, messages: [says("yes")] });
    expect(other.choices[0]?.message.content).toBe("Nothing to do.");
    expect(ordered).toEqual([]);
    const refused = await failureOf(say("yes", [], { "X-Interactive": "false" }));
    expect([refused.status, refused.code]).toEqual([409, "conversation_waiting"]);
    await say("yes");
    expect(ordered).toHaveLength(1);
    expect((await say("yes")).text).toBe("Nothing to do.");
    expect(ordered).toHaveLength(1);
  });

  test("takes no message that was sent before the question as a reply to it", async () => {
    await say("Order tea");
    await database.query({ text: "update questions set asked_at = now() + interval '1 hour' where answered_at is null" });
    expect((await failureOf(say("yes"))).code).toBe("conversation_waiting");
    expect(ordered).toEqual([]);
  });
});
