import { describe, expect, test } from "@jest/globals";
import { asksForSeveral, embedTalk, talkOf, talkQuery } from "../../../memory/recall/talk.ts";

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
