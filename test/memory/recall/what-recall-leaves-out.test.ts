import { afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import {
  makeRecall,
  type Recall,
  type RecallParts,
  type RecallRequest,
  type RecalledEpisode,
} from "../../../memory/recall/recall-episodes.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { archiveMemories } from "../../../stores/postgres/memory/archive-store.ts";
import { makeFirstAsked, makeWithoutBabble } from "../../../memory/recall/babble.ts";

const memory = useTestEpisodicMemory();
afterEach(() => memory.embedder.fail(null));
const NOW = new Date("2024-06-12T12:00:00Z"); // a Wednesday
const SAID = exchanges(
  ["My favourite director is Agnès Varda, I saw Cléo in spring.", "A wonderful film."],
  ["I am allergic to peanuts.", "I will remember that."],
  ["我女儿的钢琴老师叫林晓梅。", "林老师听起来很好。"],
  ["The rent of my flat in Porto is 900 euros.", "That is quite a lot."],
);
const AWAY = new AppError("index_unavailable", "It cannot be reached.");
describe("recall of some types or times", () => {
  let ada: OwnedConversation;
  beforeAll(async () => {
    ada = await memory.remember(SAID, { userId: "ada", at: "2024-03-05T12:00:00Z" });
  });

  function makeOne(parts: Partial<RecallParts> = {}): Recall {
    const { index, episodes, embedder } = memory;
    return makeRecall({ index, episodes, embedder, timeZone: "UTC", minSimilarity: 0.5, now: () => NOW, ...parts });
  }
  const request = (question: string) => ({ tenantId: "tenant", userId: "ada", question, limit: 3 });
  /** What the user said in the exchanges that are recalled. */
  async function recalled(question: string, changed: Partial<RecallRequest> = {}, recall = makeOne()): Promise<string[]> {
    return (await recall({ ...request(question), ...changed })).episodes.map(({ userMessage }) => userMessage);
  }

  test("finds what is of some types, those of the setting or others that are asked for, and tells how near it is", async () => {
    const question = "director Varda peanuts flat 林晓梅";
    const recall = makeOne({ minSimilarity: -1, episodeTypes: ["context"] });
    const found = async (changed: Partial<RecallRequest>, by = recall) => (await by({ ...request(question), ...changed })).episodes;
    const all = await found({ limit: 10 }, makeOne({ minSimilarity: -1 }));
    const typesOf = (episodes: typeof all) => [...new Set(episodes.map(({ episodeType }) => episodeType))].toSorted();
    expect(typesOf(all)).toEqual(["context", "preference"]);
    expect(typesOf(await found({ limit: 10 }))).toEqual(["context"]);
    const preferences = await found({ episodeTypes: ["preference"], limit: 1 });
    expect(preferences.map(({ id }) => id)).toEqual([all.find(({ episodeType }) => episodeType === "preference")?.id]);
    for (const { similarity } of all) expect(Math.abs(similarity ?? 0)).toBeLessThanOrEqual(1.000_001);
    memory.embedder.fail(AWAY);
    expect((await found({ limit: 10 })).map(({ similarity }) => similarity)).toEqual([null, null]);
  });

  test("finds what was said in a span of time, also when the question names a day", async () => {
    const messages = await memory.messages(ada);
    const at = messages.filter(({ role }) => role === "user").map(({ created_at }) => created_at);
    const [, second, third] = at;
    const span = { from: second, until: third };
    expect(await recalled("director Varda peanuts flat", span, makeOne({ minSimilarity: -1 }))).toEqual(["I am allergic to peanuts."]);
    expect(await recalled("What was on March 5?", span)).toEqual(["I am allergic to peanuts."]);
    expect(await recalled("What was on March 5?", { until: at[0] })).toEqual([]);
  });
});

describe("archived facts", () => {
  test("a question gets what the memory agent has archived, beside exchanges", async () => {
    const dishes = exchanges(["We had the fish soup at Ramiro, and it was a good dish.", "Lovely."], ["Is the oven broken?", "No."]);
    const eater = await memory.store(dishes, { userId: "eater" });
    const [asked] = await memory.messages(eater);
    const content = "Dishes liked so far: ramen, feijoada.";
    const fact = { id: crypto.randomUUID(), triggerMessageIds: [asked?.id ?? ""], content, episodeType: "preference", importance: 0.8 };
    await memory.database.transaction((transaction) => archiveMemories(transaction, eater, [fact]));
    await memory.indexAll(eater);
    const { index, episodes, embedder } = memory;
    const recall = makeRecall({ index, episodes, embedder, timeZone: "UTC", minSimilarity: 0.5 });
    const found = await recall({
      ...eater,
      conversationId: undefined,
      question: "Which dishes did I like?",
      limit: 1,
      tokens: 1_000,
    });
    expect(found.episodes.map(({ userMessage }) => userMessage).toSorted()).toEqual([content, dishes[0]?.[1]]);
  });
});

const REX = "The capital of Lisbon is Rex.";
const said = (userMessage: string, assistantMessage: string) => ({ userMessage, assistantMessage });
/** The messages whose answers are babble. */
function babbled(...exchanges: ReturnType<typeof said>[]): string[] {
  const withoutBabble = makeWithoutBabble(exchanges);
  return exchanges.filter((one) => withoutBabble(one) !== one).map(({ userMessage }) => userMessage);
}
describe("among exchanges that are shown together, the answer is babble", () => {
  test("that was given to messages which share nothing", () => {
    expect(babbled(said("I live in Lisbon.", REX), said("My dog is called Rex.", REX), said("I like tea.", "Tea is good."))).toEqual([
      "I live in Lisbon.",
      "My dog is called Rex.",
    ]);
    const zh = "我是一个乐于助人的助手。";
    expect(babbled(said("我住在上海。", zh), said("我对花生过敏。", zh))).toHaveLength(2);
  });

  test("that loops", () => expect(babbled(said("Where do I live?", "I am a helpful assistant. ".repeat(4)))).toHaveLength(1));

  test.each([
    [
      "that was given to one question twice",
      said("Where do I live?", "You live in Lisbon."),
      said("Do I live here?", "You live in Lisbon."),
    ],
    ["that is short", said("Do I like tea?", "Yes."), said("Is Rex a dog?", "Yes.")],
    ["that stands alone", said("Where do I live?", REX), said("I like tea.", "Tea is good.")],
    ["to nothing", said("", "Welcome to the harbour."), said("I like tea.", "Welcome to the harbour.")],
  ])("but none %s", (_what, ...exchanges) => expect(babbled(...exchanges)).toEqual([]));
});
test("a short question with the words of one before is left out; what is told or long is not", () => {
  const firstAsked = makeFirstAsked();
  const long = `Where do I live, ${"if not in a house by the sea, ".repeat(4)}and why?`;
  const messages = ["Where do I live?", "where do I live", "我住在哪里？", "我住在哪里", "I live here.", "I live here.", long, long];
  const texts = messages.map((userMessage, place) => ({ id: String(place), userMessage }));
  const ids = (found: typeof texts): string[] => found.map(({ id }) => id);
  expect(ids(firstAsked(["2", "1", "0"], texts))).toEqual(["2", "1"]);
  expect(ids(firstAsked(["3", "4", "5", "6", "7", "8"], texts))).toEqual(["4", "5", "6", "7"]);
});

describe("recall of a talk with a model that babbles", () => {
  async function recall(userId: string, question: string, limit = 3): Promise<RecalledEpisode[]> {
    const search = makeRecall({ ...memory, timeZone: "UTC", minSimilarity: 0.5 });
    return (await search({ tenantId: "tenant", userId, question, limit })).episodes;
  }

  test("gives a short question that was asked again once, so that what was told has a place", async () => {
    const asked = Array.from({ length: 12 }, (_, time): [string, string] => [
      time % 2 ? "Where do I live?" : "where do I live",
      `Answer ${time}.`,
    ]);
    await memory.remember(exchanges(["I live in Lisbon near the river.", "Nice."], ...asked), { userId: "again" });
    const found = (await recall("again", "Where do I live?")).map(({ userMessage }) => userMessage);
    expect(found).toContain("I live in Lisbon near the river.");
    expect(found.filter((message) => /where/i.test(message))).toHaveLength(1);
  });

  test("gives what the user said without an answer that was given to everything", async () => {
    const rex = "The capital of Lisbon is Rex.";
    const told = ["I live in Lisbon.", "My dog is called Rex.", "Where do I live?", "What is my dog called?"];
    await memory.remember(exchanges(...told.map((message): [string, string] => [message, rex])), { userId: "rex" });
    const episodes = await recall("rex", "Where do I live with my dog?", 4);
    expect(episodes.map(({ userMessage }) => userMessage)).toEqual(expect.arrayContaining(["I live in Lisbon.", "My dog is called Rex."]));
    const shown = episodes.flatMap((episode) => [episode, ...episode.neighbours]);
    expect(new Set(shown.map(({ assistantMessage }) => assistantMessage))).toEqual(new Set([""]));
    expect(shown.every(({ messageIds }) => messageIds.length === 2)).toBe(true);
  });
});
