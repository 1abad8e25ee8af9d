import { describe, expect, test } from "@jest/globals";
import { makeCosineScale } from "../../../memory/recall/cosine-scale.ts";
import type { SearchHit } from "../../../stores/search/contract/search-index.ts";
import { type Script, scriptOf } from "../../../text/script-of.ts";
import { chooseNeighbours, fillRoom } from "../../../memory/recall/neighbours.ts";
import type { EpisodeText, StoredNeighbour } from "../../../stores/postgres/memory/episode-texts.ts";
import { asksForSeveral, embedTalk, talkOf, talkQuery } from "../../../memory/recall/talk.ts";

/** One number tells the topic, one the script; neutral sentences vary a little. */
const vectorOf = (topic: number, script: Script): number[] => [topic, script === "han" ? 0.5 : -0.5];
const SPREAD = 0.02;
function makeLearned() {
  const asked: (readonly string[])[] = [];
  const embedder = {
    favoursScripts: true,
    minSimilarity: 0.86,
    async embedPassages(texts: readonly string[]): Promise<number[][]> {
      asked.push(texts);
      if (asked.length === 1) throw new Error("It is still starting.");
      return texts.map((text, place) => vectorOf(place % 2 === 0 ? SPREAD : -SPREAD, scriptOf(text)));
    },
  };
  return { embedder, asked };
}
const QUESTION = [1, 0.5];
const hit = (cosine: number, script: Script): SearchHit => {
  return { id: "a", score: cosine, script, ownerKey: "", groupId: "", previousId: null, createdAt: new Date(0), attributes: {} };
};
/** The cosine of the question and a text. */
function cosineTo(topic: number, script: Script): number {
  const [one = 0, other = 0] = vectorOf(topic, script);
  return ((QUESTION[0] ?? 0) * one + (QUESTION[1] ?? 0) * other) / Math.hypot(...QUESTION);
}
describe("the scale of cosines", () => {
  test("counts a text of another script like the same text in the question's", async () => {
    const scale = makeCosineScale(makeLearned().embedder, undefined);
    await expect(scale(QUESTION)).rejects.toThrow("still starting");
    const { nearness, near } = await scale(QUESTION);
    const [own, other] = (["han", "other"] as const).map((script) => nearness(hit(cosineTo(0.5, script), script)));
    expect(other).toBeCloseTo(own ?? 0, 6);
    expect(own).toBeGreaterThan(near);
    expect(nearness(hit(cosineTo(SPREAD, "han"), "han"))).toBeLessThan(near);
  });

  test("takes a least cosine as one in the question's script", async () => {
    const scale = makeCosineScale(makeLearned().embedder, cosineTo(0.3, "han"));
    await scale(QUESTION).catch(() => undefined);
    const { nearness, near } = await scale(QUESTION);
    for (const script of ["han", "other"] as const) {
      expect(nearness(hit(cosineTo(0.31, script), script))).toBeGreaterThan(near);
      expect(nearness(hit(cosineTo(0.29, script), script))).toBeLessThan(near);
    }
  });

  test("asks for neutral sentences once, also for several searches", async () => {
    const { embedder, asked } = makeLearned();
    const scale = makeCosineScale(embedder, undefined);
    await scale(QUESTION).catch(() => undefined);
    await Promise.all([scale(QUESTION), scale(QUESTION)]);
    await scale([0, 1]);
    expect(asked).toHaveLength(2);
  });

  test("leaves the cosines of an embedder as they are that favours no script, and asks it for nothing", async () => {
    const { embedder, asked } = makeLearned();
    const { nearness, near } = await makeCosineScale({ ...embedder, favoursScripts: false }, undefined)(QUESTION);
    expect([nearness(hit(0.7, "han")), nearness(hit(0.7, "other")), near]).toEqual([0.7, 0.7, 0.86]);
    expect(asked).toEqual([]);
  });
});

const createdAt = new Date("2024-03-05T12:00:00Z");
const said = (id: string, role: StoredNeighbour["role"] = "user", content = id): StoredNeighbour => {
  return { id, role, content, createdAt, externalId: `external ${id}`, isLive: false };
};
function episode(id: string, beside: Partial<Pick<EpisodeText, "before" | "after" | "userMessage">> = {}): EpisodeText {
  const own = { id, conversationId: "talk", userMessage: id, assistantMessage: "", messageIds: [id], externalIds: [], createdAt };
  return { ...own, before: [], after: [], ...beside };
}
const idsOf = (episodes: EpisodeText[], except?: ReadonlySet<string>): string[][] =>
  chooseNeighbours(episodes, except).map((beside) => beside.map(({ id }) => id));
test("short hits leave room for more than the limit, long ones do not", () => {
  const hit = (id: string, words = 1) => ({ text: episode(id, { userMessage: "word ".repeat(words) }) });
  const filled = (hits: ReturnType<typeof hit>[], limit: number): string[] => fillRoom(hits, limit).map(({ text }) => text.id);
  expect(filled([hit("a"), hit("b"), hit("c"), hit("d")], 2)).toEqual(["a", "b", "c", "d"]);
  expect(filled([hit("a"), hit("b"), hit("long", 400), hit("d")], 2)).toEqual(["a", "b", "d"]);
  expect(filled([hit("a", 300), hit("b", 300), hit("c")], 2)).toEqual(["a", "b"]);
  expect(filled([hit("a")], 2)).toEqual(["a"]);
});
describe("chooseNeighbours", () => {
  test("gives the exchange before and the one after, whole, in their order", () => {
    const [beside] = chooseNeighbours([
      episode("hit", { before: [said("a"), said("b", "assistant")], after: [said("c"), said("d", "assistant")] }),
    ]);
    const externalIds = ["external a", "external b"];
    expect(beside?.[0]).toEqual({ id: "a", userMessage: "a", assistantMessage: "b", messageIds: ["a", "b"], externalIds, createdAt });
    expect(beside?.map(({ id }) => id)).toEqual(["a", "c"]);
  });

  test("takes the nearest of two messages that are no exchange", () => {
    expect(idsOf([episode("hit", { before: [said("a"), said("b")], after: [said("c"), said("d")] })])).toEqual([["b", "c"]]);
    expect(idsOf([episode("hit", { before: [said("a", "assistant"), said("b")], after: [said("c", "assistant")] })])).toEqual([["b", "c"]]);
  });

  test("leaves out an answer alone that says nothing, and keeps a question with such an answer", () => {
    expect(idsOf([episode("hit", { before: [said("a", "assistant", "")] })])).toEqual([[]]);
    expect(idsOf([episode("hit", { before: [said("a"), said("b", "assistant", "")] })])).toEqual([["a"]]);
  });

  test("leaves out the question of a turn that failed or was cancelled", () => {
    const live = (id: string, role: StoredNeighbour["role"] = "user") => ({ ...said(id, role), isLive: true });
    const whole = [live("c"), live("d", "assistant")];
    expect(idsOf([episode("hit", { before: [live("a"), live("b")], after: whole })])).toEqual([["c"]]);
    expect(idsOf([episode("hit", { before: whole, after: [live("e"), live("f")] })])).toEqual([["c"]]);
  });

  test("gives nothing twice, nothing that is recalled itself, and nothing of the window", () => {
    const episodes = [episode("one", { after: [said("two")] }), episode("two", { before: [said("one")], after: [said("x")] })];
    expect(idsOf([...episodes, episode("three", { before: [said("x")], after: [said("seen")] })], new Set(["seen"]))).toEqual([
      [],
      ["x"],
      [],
    ]);
  });

  test("leaves out what is longer than the room that the recalled ones leave", () => {
    const long = said("long", "user", "word ".repeat(200));
    expect(idsOf([episode("hit", { before: [long], after: [said("short")] })])).toEqual([["short"]]);
    expect(idsOf([episode("hit", { userMessage: "word ".repeat(200), after: [said("short")] })])).toEqual([[]]);
    expect(idsOf([episode("hit", { before: [long] }), episode("other")])).toEqual([["long"], []]);
  });
});

const user = (content: string) => ({ role: "user" as const, content });
const assistant = (content: string) => ({ role: "assistant" as const, content });
const RECENT = [
  user("I play the cello."),
  user("We flew to Lisbon."),
  assistant("Nice."),
  user("The garden is flooded."),
  user("ok, thanks"),
];
function wordsOf(question: string): Record<string, number> {
  const words = talkQuery(talkOf(question, RECENT)).split(" ");
  return Object.fromEntries(words.map((word) => [word, words.filter((other) => other === word).length]));
}
test.each(["Which books has she read?", "What sports does Tim play?", "list my trips", "How many dogs do I have?", "我去过哪些城市？"])(
  "%j asks for several things",
  (question) => expect(asksForSeveral(question)).toBe(true),
);
test.each([
  "What is my dog called?",
  "What was the address?",
  "When did I move?",
  "What of the film which I liked?",
  "我的狗叫什么名字？",
  "我们都去了吗？",
  "I like all jazz.",
])("%j asks for one thing, or for none", (question) => expect(asksForSeveral(question)).toBe(false));
describe("the talk of a search", () => {
  test("has the user's last messages before a remark at falling weight, without small talk and answers", () => {
    expect(talkOf("My bicycle rusts.", RECENT)).toEqual([
      { text: "My bicycle rusts.", weight: 1 },
      { text: "The garden is flooded.", weight: 0.5 },
      { text: "We flew to Lisbon.", weight: 0.25 },
      { text: "I play the cello.", weight: 0.25 },
    ]);
    expect(wordsOf("My bicycle rusts.")).toMatchObject({ bicycl: 4, rust: 4, garden: 2, lisbon: 1, cello: 1 });
  });

  test.each(["Where did I leave the bicycle?", "自行车在哪里？"])("counts less before %j, which may change the topic", (question) => {
    expect(talkOf(question, RECENT).map(({ weight }) => weight)).toEqual([1, 0.25, 0.125, 0.125]);
  });

  test("counts a word of several messages once, at its greatest weight", () => {
    expect(wordsOf("The garden smells.")).toMatchObject({ garden: 4, smell: 4 });
  });

  test("is the question alone where nothing was said", async () => {
    expect(talkOf("Where is it?", [])).toEqual([{ text: "Where is it?", weight: 1 }]);
    expect(await embedTalk(talkOf("Where?", []), async () => [0.6, 0.8])).toEqual([0.6, 0.8]);
  });

  test("has the weighted sum of its messages' vectors", async () => {
    const vectors: Record<string, number[]> = { now: [1, 0], before: [0, 1] };
    const talk = [
      { text: "now", weight: 1 },
      { text: "before", weight: 0.5 },
    ];
    expect(await embedTalk(talk, async (text) => vectors[text] ?? [])).toEqual([1, 0.5]);
  });
});
