import { beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, type ErrorBody, type ListedMessage } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { openTestService } from "../../../support/services/service.ts";
import { importedTurns, useServiceWithEpisodes } from "../../../support/services/service-with-episodes.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

const FACTS = importedTurns([
  ["My favourite director is Agnès Varda.", "A fine choice."],
  ["I am allergic to peanuts, remember that.", "I will."],
  ["我女儿的钢琴老师叫林晓梅。", "林老师听起来很好。"],
]);
describe("a user's episodes over HTTP", () => {
  const running = useServiceWithEpisodes();
  let conversationId: string;
  beforeAll(async () => {
    const messages = FACTS.map((message, number) => (number < 2 ? { ...message, metadata: { external_id: `x${number}` } } : message));
    conversationId = (await running.bring("ada", messages)).conversation_id;
    expect(await running.settle(conversationId)).toEqual({ settled: true, pending: 0 });
  });

  const lastPrompt = (): string[] => (running.model.seen.at(-1)?.body.messages ?? []).map(({ content }) => content);

  test("are found with every field, the best first", async () => {
    const { status, json } = await running.episodes("ada", { query: "Which director do I like?" });
    expect(status).toBe(200);
    expect(json.degraded).toEqual([]);
    expect(json.episodes[0]).toEqual({
      id: expect.any(String),
      score: expect.any(Number),
      similarity: expect.any(Number),
      conversation_id: conversationId,
      user_message: "My favourite director is Agnès Varda.",
      assistant_message: "A fine choice.",
      episode_type: "preference",
      importance: 0.8,
      created_at: "2024-03-05T12:00:00.000Z",
      message_ids: [json.episodes[0]?.id, expect.any(String)],
      metadata: { external_ids: ["x0", "x1"] },
      neighbours: [
        {
          id: expect.any(String),
          user_message: "I am allergic to peanuts, remember that.",
          assistant_message: "I will.",
          created_at: "2024-03-05T12:02:00.000Z",
          message_ids: [expect.any(String), expect.any(String)],
          metadata: {},
        },
      ],
    });
    const scores = json.episodes.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((one, other) => other - one));
  });

  test("are found up to the limit, and only in the conversation that is named", async () => {
    const query = "director peanuts 钢琴老师";
    const [chinese] = (await running.episodes("ada", { query: "钢琴老师是谁？" })).json.episodes;
    expect(chinese).toMatchObject({ user_message: "我女儿的钢琴老师叫林晓梅。", metadata: {} }); // no external ids were given
    expect((await running.episodes("ada", { query, limit: "1" })).json.episodes).toHaveLength(1);
    expect((await running.episodes("ada", { query, limit: "100" })).json.episodes).toHaveLength(3);
    expect((await running.episodes("ada", { query, conversation_id: conversationId })).json.episodes).toHaveLength(3);
    expect((await running.episodes("ada", { query, conversation_id: crypto.randomUUID() })).json.episodes).toEqual([]);
  });

  test("can be searched by type, and in a span of days or times", async () => {
    const query = "director peanuts 钢琴老师";
    const found = async (filter: Record<string, string>) =>
      (await running.episodes("ada", { query, ...filter })).json.episodes.map(({ user_message }) => user_message).toSorted();
    const [director, peanuts, piano] = [
      "My favourite director is Agnès Varda.",
      "I am allergic to peanuts, remember that.",
      "我女儿的钢琴老师叫林晓梅。",
    ];
    expect(await found({ episode_type: "context" })).toEqual([piano]);
    expect(await found({ episode_type: "outcome" })).toEqual([]);
    expect(await found({ from: "2024-03-05", to: "2024-03-05" })).toEqual([peanuts, director, piano]);
    expect(await found({ to: "2024-03-04" })).toEqual([]);
    expect(await found({ from: "2024-03-06" })).toEqual([]);
    expect(await found({ from: "2024-03-05T12:02:00Z" })).toEqual([peanuts, piano]);
    expect(await found({ from: "2024-03-05T13:02:00+01:00", to: "2024-03-05T12:02:00Z" })).toEqual([peanuts]);
    expect(await found({ episode_type: "preference", to: "2024-03-05T12:01:00Z" })).toEqual([director]);
  });

  test("are found with scope=user as the next turn would recall them, without the messages in its window", async () => {
    const asked = "Something short would suit this evening.";
    const said = "I want to see a film by my favourite director.";
    const told = await running.bring("grace", FACTS);
    const talk = await running.bring("grace", importedTurns([[said, "Let us see."]], "2024-03-06T12:00:00Z"), "talk");
    for (const { conversation_id } of [told, talk]) await running.settle(conversation_id);
    const about = { query: asked, conversation_id: talk.conversation_id };
    const found = async (query: Record<string, string>) =>
      (await running.episodes("grace", query)).json.episodes.map(({ user_message }) => user_message);
    expect(await found({ query: asked })).toEqual([]);
    expect(await found({ ...about, scope: "conversation" })).toEqual([]);
    const inTalk = await found({ ...about, scope: "user" });
    expect(inTalk[0]).toBe("My favourite director is Agnès Varda.");
    expect(inTalk).not.toContain(said);
    // Foreign or unknown talk is no talk.
    expect(await found({ query: asked, conversation_id: crypto.randomUUID(), scope: "user" })).toEqual([]);
    expect((await running.say("grace", asked, "talk")).receipt.episodes[0]).toMatchObject({ conversation_id: told.conversation_id });
  });

  test.each<[string, Record<string, string>, string]>([
    ["no query", {}, "query"],
    ["another scope", { query: "x", scope: "tenant" }, "scope"],
    ["a scope without its conversation", { query: "x", scope: "conversation" }, "conversation_id"],
    ["a blank query", { query: "  " }, "query"],
    ["a query with a NUL", { query: "a\0b" }, "query"],
    ["a limit that is no number", { query: "x", limit: "ten" }, "limit"],
    ["an unknown type", { query: "x", episode_type: "secret" }, "episode_type"],
    ["a day that does not exist", { query: "x", from: "2024-02-30" }, "from"],
    ["a time without its zone", { query: "x", to: "2024-02-03T12:00:00" }, "to"],
    ["a span that ends before it begins", { query: "x", from: "2024-02-03", to: "2024-02-02" }, "to"],
    ["a conversation that is no UUID", { query: "x", conversation_id: "1' or '1'='1" }, "conversation_id"],
  ])("are not searched with %s, and the refusal names the field", async (_name, query, field) => {
    const { status, headers, text } = await running.episodes("ada", query);
    expectRefusal({ status, headers, text, json: JSON.parse(text) as ErrorBody }, { status: 400, code: "invalid_request", field });
  });

  test("are in the prompt of a turn in another session, between tags and with their date, and in its receipt", async () => {
    const found = (await running.episodes("ada", { query: "Which director do I like?", limit: "3" })).json.episodes;
    const done = await running.say("ada", "Which director do I like?", "another");
    const prompt = lastPrompt();
    expect(prompt.at(-1)).toMatch(
      /<earlier_exchanges>\n[^]*\[2024-03-05\] User:\n> My favourite director is Agnès Varda\.\nAssistant:\n> A fine choice\.[^]*\n<\/earlier_exchanges>\n\nWhich director do I like\?$/,
    );
    expect(prompt.slice(0, -1).join()).not.toContain("Varda");
    const { id, message_ids } = found[0] ?? {};
    expect(done.receipt.episodes[0]).toEqual({
      id,
      score: expect.any(Number),
      similarity: expect.any(Number),
      conversation_id: conversationId,
      message_ids,
    });
    expect(done.degraded).toEqual([]);
    for (const { id: recalled } of done.receipt.episodes) {
      const shown = found.flatMap((episode) => [episode, ...episode.neighbours]);
      const text = shown.find((episode) => episode.id === recalled)?.user_message ?? "not among those that were found";
      expect(prompt.at(-1)).toContain(text);
    }
  });

  test("bring back the beginning of a conversation that outgrew its window", async () => {
    const turns = Array.from({ length: 12 }, (_, number) => [`The weather is fine on trip ${number}.`, "Good."] as const);
    const messages = importedTurns([["My passport number ends in 4711.", "Noted."], ...turns]);
    const imported = await running.bring("long", messages, "s");
    await running.settle(imported.conversation_id);
    const { receipt } = await running.say("long", "What does my passport number end in?", "s");
    expect(receipt.episodes[0]).toMatchObject({ conversation_id: imported.conversation_id });
    expect(lastPrompt().at(-1)).toContain("ends in 4711");
  });
});
test("with ENABLE_EPISODIC_MEMORY=false the service refuses a search and says what to do, and turns work without it", async () => {
  const service = await openTestService();
  const address = `${service.url}/api/v1/users/ada/episodes?query=x`;
  expectRefusal(await callApi(address), { status: 503, code: "index_unavailable", says: /ENABLE_EPISODIC_MEMORY=true/ });
  await service.close();
});

type Found = { messages: (ListedMessage & { conversation_id: string })[]; next: string | null } & ErrorBody;
const FILMS = [
  ["Which film of Tarkovsky is set in space?", "Solaris, of 1972."],
  ["你之前提到的导演是谁？", "是塔可夫斯基，《索拉里斯》的导演。"],
  ["When does the museum open?", "At ten, on Mondays too."],
  ["And films of Bergman?", "Persona and others."],
] as const;
describe("a search of a user's messages", () => {
  const running = useServiceWithEpisodes();
  let conversationId = "";
  beforeAll(async () => {
    conversationId = (await running.bring("ada", importedTurns(FILMS))).conversation_id;
    await running.bring("bob", importedTurns([["A film of Bergman about the museum", "Yes."]]));
    await running.settle(conversationId);
  });

  const find = (query: Record<string, string>, user = "ada") =>
    callApi<Found>(`${running.url}/api/v1/users/${user}/messages?${new URLSearchParams(query).toString()}`);
  const contents = async (query: string) => (await find({ query })).json.messages.map(({ content }) => content);

  test.each([
    ["museum", ["When does the museum open?"]],
    ["films", ["And films of Bergman?", "Which film of Tarkovsky is set in space?"]],
    ["the film of Tarkovsky", ["Which film of Tarkovsky is set in space?"]],
    ["persona", ["Persona and others."]],
    ["导演", ["你之前提到的导演是谁？"]],
    ["塔可夫斯基 导演", ["是塔可夫斯基，《索拉里斯》的导演。"]],
    ["film museum", []],
    ["of the", []],
    ["March", []],
  ])("for %j finds %j, with the newest first", async (query, expected) => expect(await contents(query)).toEqual(expected));

  test("gives each message with its conversation, page by page", async () => {
    const first = await find({ query: "film", limit: "1" });
    expect(first.json.messages).toEqual([expect.objectContaining({ conversation_id: conversationId, role: "user", rating: null })]);
    const second = await find({ query: "film", limit: "1", after: first.json.next ?? "" });
    expect(second.json).toMatchObject({ messages: [{ content: FILMS[0][0] }], next: null });
  });

  test("finds no message of another user, and no erased message", async () => {
    expect((await find({ query: "Bergman" }, "bob")).json.messages.map(({ content }) => content)).toEqual([
      "A film of Bergman about the museum",
    ]);
    expect((await find({ query: "Tarkovsky" }, "bob")).json.messages).toEqual([]);
    await callApi(`${running.url}/api/v1/users/bob`, { method: "DELETE" });
    expect((await find({ query: "Bergman" }, "bob")).json).toEqual({ messages: [], next: null });
  });

  test.each([
    [{}, "query"],
    [{ query: " " }, "query"],
    [{ query: "x".repeat(401) }, "query"],
    [{ query: "x", after: "y" }, "after"],
  ] as const)("refuses %j, naming %s", async (query, field) =>
    expectRefusal(await find(query), { status: 400, code: "invalid_request", field }),
  );
});
describe("without episodic memory a search of messages", () => {
  const running = useServiceWithModel({ ENABLE_EPISODIC_MEMORY: "false" });
  test("is refused with the name of the setting that switches it on", async () => {
    const refused = await callApi(`${running.url}/api/v1/users/ada/messages?query=film`);
    expectRefusal(refused, { status: 503, code: "index_unavailable", says: /ENABLE_EPISODIC_MEMORY/ });
  });
});
