import { beforeEach, describe, expect, test } from "@jest/globals";
import { estimateTokens } from "../../../../text/tokens.ts";
import { postJson, callApi, listMessages, type ErrorBody } from "../../../support/clients/api-client.ts";
import { callOnce, MEMORY_MODEL, useServiceWithCoreMemory, writing } from "../../../support/services/service-with-core-memory.ts";
import { importedTurns } from "../../../support/services/service-with-episodes.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { openServiceWithSummaries, useServiceWithSummaries, type ShownSummary } from "../../../support/services/service-with-summaries.ts";

const INSERT = {
  name: "archival_insert",
  arguments: { content: "Grace sold her boat Albatross in Porto.", episode_type: "outcome", importance: 0.9 },
};
describe("the memory agent with a model and an archive", () => {
  const running = useServiceWithCoreMemory({
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
    ENABLE_SUMMARY: "false",
  });
  let user: string;
  beforeEach(() => {
    user = crypto.randomUUID();
    running.model.seen.splice(0);
    running.remember(() => ({ tokens: ["nothing to do"] }));
    running.answer(({ messages }) => ({ tokens: ["re: ", messages.at(-1)?.content.split("\n").at(-1) ?? ""] }));
  });

  const toldToModel = (): string[] =>
    running.memoryRequests().flatMap(({ body }) => body.messages.filter(({ role }) => role === "tool").map(({ content }) => content));

  test("asks MEMORY_MODEL after a turn, and the next prompt has what it wrote", async () => {
    running.remember(callOnce(writing("profile", "Lives in Porto")));
    const turn = await running.say(user, "I moved to Porto.");
    await running.settle(turn.conversation_id);
    expect(running.memoryRequests()).toHaveLength(2);
    expect(await running.read(user)).toMatchObject([{ section: "profile", content: "Lives in Porto", version: 1, updated_by: "agent" }]);
    running.remember(() => ({ tokens: ["nothing to do"] }));
    const next = await running.say(user, "Where do I live?", "another session");
    await running.settle(next.conversation_id);
    expect(next.receipt.core_memory).toEqual([{ section: "profile", version: 1 }]);
    const prompt = running.model.seen.filter(({ body }) => body.model !== MEMORY_MODEL).at(-1)?.body.messages[0]?.content;
    expect(prompt).toMatch(/<core_memory>\n\[profile\]\n> Lives in Porto\n<\/core_memory>/);
  });

  test("shows the model core memory and what was said, but no summary, no recalled episodes and no incomplete turns", async () => {
    const imported = await running.bring(user, importedTurns([["Agnès Varda is a director whose films I watch.", "A fine choice."]]));
    await running.settle(imported.conversation_id);
    await running.write(user, "goals", "To sail");
    running.answer(() => ({ tokens: ["half an ans"], ending: "cut" }));
    await postJson(`${running.url}/api/v1/chat`, { user_id: user, session_id: "s", message: "incomplete words" });
    running.answer(() => ({ tokens: ["Varda?"] }));
    running.model.seen.splice(0);
    const turn = await running.say(user, "Which director do I like?");
    expect(turn.receipt.episodes.length).toBeGreaterThan(0);
    await running.settle(turn.conversation_id);
    const [request, ...others] = running.memoryRequests();
    expect(others).toEqual([]);
    expect(request?.body.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(request?.body.messages[1]?.content).toMatch(
      /^<core_memory>\n\[goals\] \(last changed by what was said on [\d :-]+ UTC\)\n> To sail\n<\/core_memory>\nTurn 1, said on [\d :-]+ UTC:\n<user_message>\n> Which director do I like\?\n<\/user_message>\n<assistant_message>\n> Varda\?\n<\/assistant_message>$/,
    );
  });

  test("archives an episode that is logged, found over HTTP and recalled in another session", async () => {
    running.remember(callOnce(INSERT));
    const turn = await running.say(user, "By the way, Grace has news.");
    await running.settle(turn.conversation_id);
    running.remember(() => ({ tokens: ["nothing to do"] }));
    const [found] = await running.episodes(user, "Albatross boat");
    expect(found).toMatchObject({
      user_message: INSERT.arguments.content,
      conversation_id: turn.conversation_id,
      episode_type: "outcome",
      importance: 0.9,
    });
    const next = await running.say(user, "What became of the boat Albatross?", "another session");
    expect(next.receipt.episodes.map(({ id }) => id)).toContain(found?.id);
    await running.settle(next.conversation_id);
    expect(running.model.seen.findLast(({ body }) => body.model !== MEMORY_MODEL)?.body.messages.at(-1)?.content).toContain(
      "sold her boat",
    );
    expect(await running.episodes(crypto.randomUUID(), "Albatross boat")).toEqual([]);
    const { operations } = (await running.operations(user)).json;
    expect(operations).toMatchObject([
      { operation: "archival_insert", new_value: INSERT.arguments.content, actor: "agent", refused: null },
    ]);
  });

  test("finds in its archive what a turn would recall, in the same order", async () => {
    const said = [
      "Peanuts are in many sauces.",
      "Agnès Varda is a director whose films I watch.",
      "The director of my choir is called Tom.",
    ];
    const turns = [...said, "I watched a film by a director from Porto."].map((message) => [message, "Noted."] as const);
    const imported = await running.bring(user, importedTurns(turns));
    await running.settle(imported.conversation_id);
    running.model.seen.splice(0);
    const ranked = await running.episodes(user, "director", 3);
    expect(ranked.length).toBeGreaterThan(1);
    running.remember(callOnce({ name: "archival_search", arguments: { query: "director", limit: 3 } }));
    await running.settle((await running.say(user, "Hm.")).conversation_id);
    const found = (toldToModel()[0] ?? "").match(/(?<=^\[\d{4}-\d\d-\d\d, \w+, importance [\d.]+\]\n> ).*/gm);
    expect(found).toEqual(ranked.map(({ user_message }) => user_message));
    expect((await running.operations(user)).json.operations).toMatchObject([{ operation: "archival_search", reason: "director" }]);
  });

  test("sends at most 8,192 tokens to a model whose context size is unknown, however much there is to read", async () => {
    for (const section of ["profile", "preferences", "goals"]) await running.write(user, section, "导".repeat(2_000));
    const long = Array.from({ length: 20 }, (_, number) => [`Story ${number}: ${"word ".repeat(900)}`, "word ".repeat(900)] as const);
    const imported = await running.bring(user, importedTurns(long));
    await running.settle(imported.conversation_id);
    const tokens = running.memoryRequests().map(({ body }) => body.messages.reduce((sum, { content }) => sum + estimateTokens(content), 0));
    expect(tokens.length).toBeGreaterThan(0);
    expect(Math.max(...tokens)).toBeLessThanOrEqual(8_192);
  });
});

const UNKNOWN = "00000000-0000-7000-8000-000000000000";
describe("the summary of a conversation", () => {
  const running = useServiceWithSummaries();
  beforeEach(() => {
    running.summarise({ tokens: ["They ", "spoke."] });
    running.model.seen.splice(0);
  });

  test("is null until enough was said, and then has the summary model's text of all messages but the window", async () => {
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

  test("is in the next prompt before the window and in its receipt, and each model gets its own requests", async () => {
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

  test('can be waited for with "settle", which reports what is pending when its time is over', async () => {
    running.summarise({ tokens: ["late"], firstTokenMs: 2_000 });
    await running.say("barbara", "one");
    const { conversation_id: id } = await running.say("barbara", "two");
    expect(await running.settle(id, 50)).toEqual({ settled: false, pending: 1 });
    expect(await running.settle(id, 0)).toEqual({ settled: false, pending: 1 });
    expect(await running.summaryOf(id)).toBeNull();
    expect(await running.settle(id)).toEqual({ settled: true, pending: 0 });
    expect(await running.summaryOf(id)).toMatchObject({ text: "late" });
  });

  test.each(["-1", "1.5", "soon", "", "300001", "1&timeout_ms=2"])(
    "is not waited for with timeout_ms=%s, and the refusal names the field",
    async (value) => {
      const { conversation_id: id } = await running.say("tony", "one");
      const refused = await callApi(`${running.url}/api/v1/conversations/${id}/settle?timeout_ms=${value}`, { method: "POST" });
      expectRefusal(refused, { status: 400, code: "invalid_request", field: "timeout_ms" });
    },
  );

  test.each([
    ["GET", "summary"],
    ["POST", "settle"],
  ])("answers %s %s for an unknown conversation with 404, and for an id that is no UUID with 400", async (method, path) => {
    const call = (id: string) => callApi(`${running.url}/api/v1/conversations/${id}/${path}`, { method });
    expectRefusal(await call(UNKNOWN), { status: 404, code: "not_found" });
    expectRefusal(await call("1"), { status: 400, code: "invalid_request", field: "conversation id" });
  });
});
test("with ENABLE_SUMMARY=false the service makes no summary, and the window has everything that was said", async () => {
  const running = await openServiceWithSummaries({ ENABLE_SUMMARY: "false" });
  let last = await running.say("ada", "message 1");
  for (let index = 2; index <= 6; index++) last = await running.say("ada", `message ${index}`);
  expect(last.receipt).toMatchObject({ summary: null, window_messages: 10 });
  expect(await running.settle(last.conversation_id)).toEqual({ settled: true, pending: 0 });
  expect(await running.summaryOf(last.conversation_id)).toBeNull();
  expect(running.summaryRequests()).toEqual([]);
  await running.close();
});
