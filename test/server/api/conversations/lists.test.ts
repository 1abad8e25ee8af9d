import { beforeAll, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../../turn/events.ts";
import { callApi, type ErrorBody, listMessages, postJson, putJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { readMetrics } from "../../../support/clients/read-metrics.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

interface Shown {
  id: string;
  title: string | null;
  pinned: boolean;
  archived: boolean;
  metadata: object;
  first_message: string | null;
  last_message: string | null;
  updated_at: string;
}
type ListPage = { conversations: Shown[]; next: string | null };

describe("a list of conversations", () => {
  const running = useServiceWithModel();
  let ids: string[] = [];
  beforeAll(async () => {
    running.model.answer({ tokens: ["Tram 28 ", "goes there."] });
    const said = ["How do I get to Graça?", "里斯本的图书馆几点开门？", "And a third"];
    ids = [];
    for (const [place, message] of said.entries()) ids.push((await say(`session ${place}`, message)).conversation_id);
    await say("session 0", "Thanks, and back?");
  });

  async function say(session_id: string, message: string, user_id = "ada"): Promise<TurnResult> {
    return (await postJson<TurnResult>(`${running.url}/api/v1/chat`, { user_id, session_id, message })).json;
  }
  const list = async (query = ""): Promise<ListPage> =>
    (await callApi<ListPage>(`${running.url}/api/v1/conversations?user_id=ada${query}`)).json;
  const listIds = async (query = ""): Promise<string[]> => (await list(query)).conversations.map(({ id }) => id);
  const at = (id = ""): string => `${running.url}/api/v1/conversations/${id}`;
  const change = (id: string | undefined, body: unknown) => postJson<Shown & ErrorBody>(at(id), body, {}, "PATCH");

  test("shows as the title what the user said first, and the beginning of the last message", async () => {
    const { conversations } = await list();
    expect(conversations.map(({ title }) => title)).toEqual(["And a third", "里斯本的图书馆几点开门？", "How do I get to Graça?"]);
    expect(conversations.at(-1)).toMatchObject({
      first_message: "How do I get to Graça?",
      last_message: "Tram 28 goes there.",
      pinned: false,
      archived: false,
      metadata: {},
    });
  });

  test("has each conversation, which can also be read alone by its id", async () => {
    const [, , oldest] = (await list()).conversations;
    expect((await callApi<Shown>(at(ids[0]))).json).toEqual(oldest);
    expectRefusal(await callApi(at(crypto.randomUUID())), { status: 404, code: "not_found" });
  });

  test("shows the title that a person wrote, until the person removes it", async () => {
    const { status, json } = await change(ids[0], { title: "Trams 🚋" });
    expect({ status, title: json.title }).toEqual({ status: 200, title: "Trams 🚋" });
    await say("session 0", "One more thing");
    expect((await list()).conversations.at(-1)?.title).toBe("Trams 🚋");
    expect((await change(ids[0], { title: null })).json.title).toBe("How do I get to Graça?");
  });

  test("changes only the fields that a request names", async () => {
    await change(ids[1], { pinned: true, metadata: { folder: "trips", tags: ["a"] } });
    const { json } = await change(ids[1], { title: "图书馆" });
    expect(json).toMatchObject({ title: "图书馆", pinned: true, archived: false, metadata: { folder: "trips", tags: ["a"] } });
    expect((await change(ids[1], { metadata: {} })).json).toMatchObject({ title: "图书馆", metadata: {} });
  });

  test("keeps its order when a conversation is pinned, and shows only pinned ones on request, page by page", async () => {
    await change(ids[0], { pinned: true });
    await change(ids[1], { pinned: true });
    expect(await listIds()).toEqual(ids.toReversed());
    expect(await listIds("&pinned=true")).toEqual([ids[1], ids[0]]);
    expect(await listIds("&pinned=false")).toEqual([ids[2]]);
    const first = await list("&pinned=true&limit=1");
    expect(await listIds(`&pinned=true&limit=1&after=${first.next}`)).toEqual([ids[0]]);
  });

  test("shows archived conversations only on request", async () => {
    await change(ids[2], { archived: true });
    expect(await listIds()).toEqual([ids[1], ids[0]]);
    expect(await listIds("&archived=true")).toEqual([ids[2]]);
    expect(await listIds("&archived=any")).toEqual(ids.toReversed());
    await change(ids[2], { archived: false });
  });

  test.each([
    [{}, "body"],
    [[], "body"],
    [{ title: " " }, "title"],
    [{ title: "x".repeat(201) }, "title"],
    [{ title: "a\0b" }, "title"],
    [{ pinned: "yes" }, "pinned"],
    [{ archived: null }, "archived"],
    [{ metadata: [] }, "metadata"],
    [{ colour: "red" }, "colour"],
  ])("refuses the change %j, naming %s", async (body, field) => {
    expectRefusal(await change(ids[0], body), { status: 400, code: "invalid_request", field });
  });

  test("refuses a change to a conversation that does not exist", async () => {
    expectRefusal(await change(crypto.randomUUID(), { pinned: true }), { status: 404, code: "not_found" });
    expectRefusal(await change("x", { pinned: true }), { status: 400, code: "invalid_request" });
  });

  describe("with rated answers", () => {
    const rating = (id = ""): string => `${running.url}/api/v1/messages/${id}/rating`;
    const rate = (id: string | undefined, body: unknown) => putJson<{ rating: unknown } & ErrorBody>(rating(id), body);
    const remove = (id: string | undefined) => callApi<{ rating: unknown } & ErrorBody>(rating(id), { method: "DELETE" });
    const ratings = async () => (await listMessages(running.url, ids[0] ?? "")).map((message) => message.rating);
    const counted = async (value: string) =>
      (await readMetrics(running.url)).samples.get(`conversation_graph_answer_ratings_total{value="${value}"}`);

    test("shows each answer's rating, which can be changed and removed and is counted in the metrics", async () => {
      const [, answer] = await listMessages(running.url, ids[0] ?? "");
      const given = await rate(answer?.id, { value: -1, comment: "太慢" });
      expect(given.json).toEqual({ rating: { value: -1, comment: "太慢", rated_at: expect.any(String) } });
      expect((await ratings()).slice(0, 3)).toEqual([null, given.json.rating, null]);
      await rate(answer?.id, { value: 1 });
      await rate(answer?.id, { value: 1, comment: null });
      expect((await ratings())[1]).toMatchObject({ value: 1, comment: null });
      expect([await counted("1"), await counted("-1")]).toEqual([1, 1]);
      expect((await remove(answer?.id)).json).toEqual({ rating: null });
      expect((await remove(answer?.id)).json).toEqual({ rating: null });
      expect((await ratings())[1]).toBeNull();
    });

    test.each([
      [{ value: 0 }, "value"],
      [{ value: "1" }, "value"],
      [{ value: 1, comment: "x".repeat(2_001) }, "comment"],
      [{ value: 1, stars: 5 }, "stars"],
    ])("refuses the rating %j, naming %s", async (body, field) => {
      const [, answer] = await listMessages(running.url, ids[0] ?? "");
      expectRefusal(await rate(answer?.id, body), { status: 400, code: "invalid_request", field });
    });

    test("refuses a rating of an answer that does not exist", async () => {
      const [question] = await listMessages(running.url, ids[0] ?? "");
      expectRefusal(await rate(question?.id, { value: 1 }), { status: 400, code: "invalid_request", field: "message id" });
      expectRefusal(await rate(crypto.randomUUID(), { value: 1 }), { status: 404, code: "not_found" });
      expectRefusal(await remove(crypto.randomUUID()), { status: 404, code: "not_found" });
    });

    test("loses a rating with its conversation, and the user's export has it", async () => {
      const { conversation_id: id, message_id } = await say("rated", "Rate this", "rater");
      await rate(message_id, { value: 1, comment: "a remark of the rater" });
      const exported = async () => (await fetch(`${running.url}/api/v1/users/rater/export`)).text();
      expect(await exported()).toContain("a remark of the rater");
      await callApi(at(id), { method: "DELETE" });
      expect(await exported()).not.toContain("a remark of the rater");
      const { json } = await callApi<{ places: { place: string }[] }>(`${running.url}/api/v1/users/rater/audit`);
      const bills = "public.model_usage"; // what the user's models cost stays with the user, and may be written after this
      expect(json.places.filter(({ place }) => place !== bills)).toEqual([]);
    });
  });
});

describe("with TITLE_MODEL a conversation", () => {
  const running = useServiceWithModel({ TITLE_MODEL: "title-model" });
  const titleRequests = () => running.model.seen.filter(({ body }) => body.model === "title-model");

  async function begin(userId: string, title: string): Promise<TurnResult> {
    running.model.answer(({ model }) => ({ tokens: model === "title-model" ? [title] : ["Tram 28 goes there."] }));
    const turn = await talk(userId, "How do I get to the castle?");
    await postJson(`${running.url}/api/v1/conversations/${turn.conversation_id}/settle`, {});
    return turn;
  }
  const talk = async (user_id: string, message: string) =>
    (await postJson<TurnResult>(`${running.url}/api/v1/chat`, { user_id, session_id: "s", message })).json;
  const titleOf = async ({ conversation_id: id }: TurnResult) =>
    (await callApi<Shown>(`${running.url}/api/v1/conversations/${id}`)).json.title;

  test("gets a title once from the model, which reads the first exchange as text", async () => {
    const turn = await begin("ada", '"Way to the castle."\nand more');
    expect(await titleOf(turn)).toBe("Way to the castle");
    expect(titleRequests().at(-1)?.body.messages.at(-1)?.content).toContain("> How do I get to the castle?");
    const asked = titleRequests().length;
    await begin("ada", "Another");
    expect([await titleOf(turn), titleRequests().length]).toEqual(["Way to the castle", asked]);
  });

  test("keeps the title that a person wrote", async () => {
    const release = Promise.withResolvers<void>();
    running.model.answer(({ model }) => (model === "title-model" ? { tokens: ["Late"], until: release.promise } : { tokens: ["Hi."] }));
    const turn = await talk("grace", "Hello");
    await postJson(`${running.url}/api/v1/conversations/${turn.conversation_id}`, { title: "Mine" }, {}, "PATCH");
    release.resolve();
    await postJson(`${running.url}/api/v1/conversations/${turn.conversation_id}/settle`, {});
    expect(await titleOf(turn)).toBe("Mine");
  });

  test("loses the model's title when its first exchange is erased", async () => {
    const turn = await begin("mary", "Secret castle");
    const { json } = await callApi<{ messages: { id: string }[] }>(`${running.url}/api/v1/conversations/${turn.conversation_id}/messages`);
    await callApi(`${running.url}/api/v1/users/mary/episodes/${json.messages[0]?.id}`, { method: "DELETE" });
    expect(await titleOf(turn)).toBeNull();
  });

  test("has its first words as the title when the model says nothing useful", async () => {
    expect(await titleOf(await begin("joan", ' "" '))).toBe("How do I get to the castle?");
  });
});
