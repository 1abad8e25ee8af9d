import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi, listMessages, type ErrorBody } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { openServiceWithSummaries, useServiceWithSummaries, type ShownSummary } from "../../../support/services/service-with-summaries.ts";

const UNKNOWN = "00000000-0000-7000-8000-000000000000";

describe("the summary of a conversation", () => {
  const running = useServiceWithSummaries();
  beforeEach(() => {
    running.summarise({ tokens: ["They ", "spoke."] });
    running.model.seen.splice(0);
  });

  test("is null until enough was said, then what the summary model wrote of all but the window", async () => {
    const { conversation_id: id } = await running.say("ada", "one");
    expect(await running.settle(id)).toEqual({ settled: true, pending: 0 });
    expect(await running.summaryOf(id)).toBeNull();

    await running.say("ada", "two");
    expect(await running.settle(id)).toEqual({ settled: true, pending: 0 });
    const [first, second] = await listMessages(running.url, id);
    expect(first?.content).toBe("one");
    expect(await running.summaryOf(id)).toEqual({
      text: "They spoke.",
      version: 1,
      covered_message_count: 2,
      covered_through: { created_at: second?.created_at, message_id: second?.id },
      parts: null,
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  test("is in the next prompt and its receipt, with the window behind it; each model is asked for its own", async () => {
    await running.say("grace", "My ship is the Hopper.");
    const { conversation_id: id, receipt: before } = await running.say("grace", "two");
    expect(before).toMatchObject({ summary: null, window_messages: 2 });
    await running.settle(id);
    const { receipt, answer } = await running.say("grace", "three");
    expect(answer).toBe("re: three");
    expect(receipt).toMatchObject({ summary: { version: 1, covered_message_count: 2 }, window_messages: 2 });
    const prompt = running.model.seen.filter(({ body }) => body.model === "test-chat").at(-1)?.body.messages ?? [];
    expect(prompt[0]?.content).toContain("They spoke.");
    expect(prompt.slice(1).map(({ content }) => content)).toEqual(["two", "re: two", "three"]);
    const asked = (): string => JSON.stringify(running.summaryRequests().at(-1)?.body.messages);
    expect(asked()).toContain("My ship is the Hopper.");
    expect(asked()).not.toContain("re: two");

    running.summarise({ tokens: ["They spoke on."] });
    await running.settle(id);
    await running.say("grace", "four");
    await running.settle(id);
    expect(asked()).toContain("They spoke");
    const { version: latest = 0 } = (await running.summaryOf(id)) ?? {};
    expect(latest).toBeGreaterThan(1);
    const read = (version: number) =>
      callApi<ErrorBody & { summary: ShownSummary }>(`${running.url}/api/v1/conversations/${id}/summary?version=${version}`);
    expect((await read(1)).json.summary).toMatchObject({ text: "They spoke.", version: 1, covered_message_count: 2 });
    expect((await read(latest)).json.summary).toEqual(await running.summaryOf(id));
    expectRefusal(await read(9), { status: 404, code: "not_found", says: /[Vv]ersion 9/ });
    expectRefusal(await read(0), { status: 400, code: "invalid_request", field: "version" });
  });

  test("settle says what is pending when the time is over, and waits for it otherwise", async () => {
    running.summarise({ tokens: ["late"], firstTokenMs: 2_000 });
    await running.say("barbara", "one");
    const { conversation_id: id } = await running.say("barbara", "two");
    expect(await running.settle(id, 50)).toEqual({ settled: false, pending: 1 });
    expect(await running.settle(id, 0)).toEqual({ settled: false, pending: 1 });
    expect(await running.summaryOf(id)).toBeNull();
    expect(await running.settle(id)).toEqual({ settled: true, pending: 0 });
    expect(await running.summaryOf(id)).toMatchObject({ text: "late" });
  });

  test.each(["-1", "1.5", "soon", "", "300001", "1&timeout_ms=2"])("settle refuses timeout_ms=%s and names it", async (value) => {
    const { conversation_id: id } = await running.say("tony", "one");
    const refused = await callApi(`${running.url}/api/v1/conversations/${id}/settle?timeout_ms=${value}`, { method: "POST" });
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "timeout_ms" });
  });

  test.each([
    ["GET", "summary"],
    ["POST", "settle"],
  ])("%s %s of an unknown conversation is a 404, of what is no UUID a 400", async (method, path) => {
    const call = (id: string) => callApi(`${running.url}/api/v1/conversations/${id}/${path}`, { method });
    expectRefusal(await call(UNKNOWN), { status: 404, code: "not_found" });
    expectRefusal(await call("1"), { status: 400, code: "invalid_request", field: "conversation id" });
  });
});

test("with ENABLE_SUMMARY=false no summary is asked for, and the window is everything that was said", async () => {
  const running = await openServiceWithSummaries({ ENABLE_SUMMARY: "false" });
  let last = await running.say("ada", "message 1");
  for (let index = 2; index <= 6; index++) last = await running.say("ada", `message ${index}`);
  expect(last.receipt).toMatchObject({ summary: null, window_messages: 10 });
  expect(await running.settle(last.conversation_id)).toEqual({ settled: true, pending: 0 });
  expect(await running.summaryOf(last.conversation_id)).toBeNull();
  expect(running.summaryRequests()).toEqual([]);
  await running.close();
});
