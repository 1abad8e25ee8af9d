import { beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, type ErrorBody, type ListedMessage } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { importedTurns, useServiceWithEpisodes } from "../../../support/services/service-with-episodes.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

type Found = { messages: (ListedMessage & { conversation_id: string })[]; next: string | null } & ErrorBody;

const FILMS = [
  ["Which film of Tarkovsky is set in space?", "Solaris, of 1972."],
  ["你之前提到的导演是谁？", "是塔可夫斯基，《索拉里斯》的导演。"],
  ["When does the museum open?", "At ten, on Mondays too."],
  ["And films of Bergman?", "Persona and others."],
] as const;

describe("a search of one's own messages", () => {
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
  ])("for %j finds %j, the newest first", async (query, expected) => expect(await contents(query)).toEqual(expected));

  test("gives each with its conversation, page by page", async () => {
    const first = await find({ query: "film", limit: "1" });
    expect(first.json.messages).toEqual([expect.objectContaining({ conversation_id: conversationId, role: "user", rating: null })]);
    const second = await find({ query: "film", limit: "1", after: first.json.next ?? "" });
    expect(second.json).toMatchObject({ messages: [{ content: FILMS[0][0] }], next: null });
  });

  test("gives nothing of another user, nor what was erased", async () => {
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
  test("is refused, and says what to switch on", async () => {
    const refused = await callApi(`${running.url}/api/v1/users/ada/messages?query=film`);
    expectRefusal(refused, { status: 503, code: "index_unavailable", says: /ENABLE_EPISODIC_MEMORY/ });
  });
});
