import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { completeQuestion } from "../../../memory/recall/complete-question.ts";
import type { RecentMessage } from "../../../memory/recall/stands-alone.ts";
import { anyText } from "../../support/samples/any-text.ts";
import { makeRewriteQuestion } from "../../../memory/recall/rewrite-question.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import type { ModelScript } from "../../servers/model-server.ts";
import { useModelServer } from "../../support/services/use-model-server.ts";
import { AppError } from "../../../errors/app-error.ts";
import { makeRecall, type RecallParts } from "../../../memory/recall/recall-episodes.ts";
import { exchanges, useTestEpisodicMemory } from "../../support/services/episodic-memory.ts";

const talk = (asked: string, answer: string): RecentMessage[] => [
  { role: "user", content: asked },
  { role: "assistant", content: answer },
];
const films = talk(
  "Which films should I watch this weekend?",
  "Here are some. Parasite is a dark comedy. Its director is Bong Joon-ho, who was born in Daegu. Enjoy!",
);
const hotels = talk(
  "Where can I stay in Lisbon?",
  "Three ideas:\n1. Hotel Aurora near the river\n2. Casa Verde with a garden\n3. Pension Sol, the cheapest\nTell me more.",
);
const chinese = talk("周末看什么电影好？", "可以看《饮食男女》。导演是李安，他出生在屏东。女主角是吴倩莲。");
const dishes = talk("成都有什么好吃的？", "推荐三样：\n1、麻婆豆腐，陈麻婆家最好\n2、钟水饺，甜辣口\n3、兔头，要会啃");
const laptops = talk("Can you suggest a laptop?", "The Zenbook 14 is light and quiet. The Dell XPS 16 has a larger screen and costs less.");
const tea = talk("咖啡机怎么除垢", "水箱加柠檬酸和水，放一半，等二十分钟，再冲两遍。");
const dinner = talk("周六八个人吃饭做什么好", "火锅最省事。烤羊排有气氛。咖喱可以提前一天做。");
/** Questions, " | " between two. */
const WHOLE = `What is my dog called? | Where does my sister live and what does she do? | When did Anna say that she would visit?
  | Is it possible to cancel my gym contract? | What time is it? | Is there a pharmacy near my home?
  | What was that film we watched last summer in Rome? | What did I do on that Monday in May? | Hello | 我上次看的那部电影叫什么 | 这个周末我有什么安排
  | what is photosynthesis | how many litres are in a gallon | is aspirin ok for dogs | Where was the Treaty of Tordesillas signed?
  | Does the museum have a comedy poster? | Why did Marta leave her job? | 苹果树几年能结果 | 《南京条约》的主要内容是什么 | 从上海怎么去黄山 | 我喜欢哪些音乐
  | 我的钥匙呢？ | 公司那边的会议是几点 | 我还有其他爱好吗 | 我可以问这个问题吗`;
/** What is added to the question; empty when it stays as it is. */
const added = (question: string, recent: RecentMessage[]): string => completeQuestion(question, recent).slice(question.length).trim();
describe("completeQuestion", () => {
  test.each([
    ["What is the bilby limit?", talk("What is the numbat limit?", "Eleven.")],
    ["And the possum limit?", talk("What is the numbat limit?", "Eleven.")],
    ["袋熊的限额呢？", talk("袋鼠的限额呢？", "十一。")],
  ])("a question like the one before, of another thing, brings nothing of that one along: %s", (question, recent) =>
    expect(completeQuestion(question, recent)).toBe(question),
  );

  test.each([
    ["Where was that director you mentioned born?", films, "Bong Joon-ho"],
    ["Who is that director?", films, "Bong Joon-ho"],
    ["How old is he?", films, "Bong Joon-ho"],
    ["and him?", films, "Bong Joon-ho"],
    ["Is it scary?", films, "Bong"],
    ["what about the comedy you suggested?", films, "Parasite"],
    ["tell me more", films, "Bong"],
    ["why?", films, "films"],
    ["Would my wife like the film you just mentioned?", films, "films"],
    ["What about Sunday?", films, "weekend"],
    ["How much is the second one?", hotels, "Casa Verde"],
    ["Is the last one quiet?", hotels, "Pension Sol"],
    ["How far is the former from the sea?", hotels, "Hotel Aurora"],
    ["前者辣吗", dishes, "麻婆豆腐"],
    ["option 1 please, is it near the river?", hotels, "Hotel Aurora"],
    ["What's the weather like there?", hotels, "Lisbon"],
    ["Which one is cheaper?", hotels, "Lisbon"],
    ["刚才提到的导演还拍过什么？", chinese, "李安"],
    ["你说的那个导演是哪里人", chinese, "李安"],
    ["那个导演是谁", chinese, "李安"],
    ["他还拍过什么", chinese, "饮食男女"],
    ["它多少钱", chinese, "饮食男女"],
    ["那女主角呢？", chinese, "饮食男女"],
    ["为什么？", chinese, "饮食男女"],
    ["这部电影好看吗", chinese, "电影"],
    ["第二个是什么味道", dishes, "钟水饺"],
    ["最后一个要怎么吃", dishes, "兔头"],
    ["那里冷吗", dishes, "成都"],
    ["Interesting. Tell me more.", films, "Bong"],
    ["Cool! Is there another?", films, "films"],
    ["whats the battery life of the dell", laptops, "XPS"],
    ["Which of the two is lighter?", laptops, "Zenbook"],
    ["no, I meant smaller ones", laptops, "laptop"],
    ["and how much memory?", laptops, "laptop"],
    ["back to the laptop: is it heavy?", [...laptops, ...hotels], "Zenbook"],
    ["How long should I keep option 2?", talk("Options?", "Step 1: a savings account. Step 2: an index fund."), "index fund"],
    ["What about the second?", talk("Rest?", "It is simple and cheap, so try it. You may read, swim, or sleep."), "swim"],
    ["Any tips on how she could relax?", talk("My daughter Ines has an exam.", "Good luck to her!"), "Ines"],
    ["How do we get there from Porto?", hotels, "Lisbon"],
    ["谁拍的", chinese, "饮食男女"],
    ["好看吗", chinese, "饮食男女"],
    ["用白醋行不行", tea, "除垢"],
    ["这东西贵不贵", tea, "咖啡机"],
    ["不是，我要快一点的", tea, "除垢"],
    ["说回咖啡机，多久一次", [...tea, ...dinner], "柠檬酸"],
    ["就最后那个吧，要买什么", dinner, "咖喱"],
    ["钟水饺那家远吗", dishes, "钟水饺"],
  ])("%j points back", (question, recent, expected) => expect(added(question, recent)).toContain(expected));

  test.each(WHOLE.split("|").map((question) => question.trim()))("%j stays as it is", (question) => {
    for (const recent of [films, hotels, chinese, dishes]) expect(completeQuestion(question, recent)).toBe(question);
  });

  test.each([
    ["a thing that was not said lately", "Where was that plumber you mentioned?", films, ""],
    ["a thing that was not said lately, in Chinese", "刚才提到的餐厅在哪", chinese, ""],
    ["nothing that was said", "and him?", [], ""],
    ["an item in a series of words", "Is the second one in stock?", talk("?", "They come in crimson, teal, and amber."), "teal"],
    ["a list before the last message", "and the second one?", [...hotels, ...talk("Thanks.", "Any time.")], "Casa Verde with a garden"],
    ["an item in a Chinese series", "第二个贵吗", talk("？", "可以选红茶、绿茶和乌龙茶。"), "绿茶"],
    [
      "the latest sentence that holds the thing",
      "When was that director born?",
      [...talk("Who?", "The director Ang Lee lives in New York."), ...talk("I prefer another director, Agnès Varda.", "Good choice.")],
      "I prefer another director, Agnès Varda. The director Ang Lee lives in New York.",
    ],
  ])("adds what %s says", (_name, question, recent, expected) => expect(added(question, recent)).toBe(expected));

  test("property: keeps the question in front and adds at most sixty words", () => {
    const recent = fc.array(fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), content: anyText }), {
      maxLength: 6,
    });
    const questions = fc.constantFrom("and him?", "the second one?", "它呢？", "刚才提到的导演说了什么", "that word?");
    fc.assert(
      fc.property(questions, recent, (question, messages) => {
        const completed = completeQuestion(question, messages);
        expect(completed.startsWith(question)).toBe(true);
        const words = completed.slice(question.length).match(/\p{Script=Han}{1,2}|[^\s\p{Script=Han}]+/gu) ?? [];
        expect(words.length).toBeLessThanOrEqual(61);
      }),
    );
  });
});

describe("a question that points at something which rules do not find", () => {
  const server = useModelServer();
  const TALK = [
    { role: "user", content: "Where can we eat in Porto?" },
    { role: "assistant", content: "Cantinho is lively." },
  ] as const;
  const UNSURE = "Where was that plumber you mentioned?";
  const rewrite = (question: string, timeoutMs = 5_000, signal?: AbortSignal): Promise<string> =>
    makeRewriteQuestion(createOpenAIChatModel({ model: "memory", baseUrl: `${server.url}/v1` }), { timeoutMs })(question, TALK, signal);

  test("gets what the memory model writes behind it", async () => {
    server.answer({ tokens: ["Where does the plumber ", "Jonas work?\n"] });
    expect(await rewrite(UNSURE)).toBe(`${UNSURE} Where does the plumber Jonas work?`);
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]?.body.messages.at(-1)?.content).toContain("Cantinho is lively.");
  });

  test.each<[string, ModelScript]>([
    ["says nothing", { tokens: [""] }],
    ["writes several lines", { tokens: ["He lives\n", "in Porto."] }],
    ["writes at length", { tokens: Array.from({ length: 100 }, (_, number) => `word${number} `) }],
    ["fails", { status: 500 }],
    ["breaks off", { tokens: ["Where"], ending: "cut" }],
  ])("stays as it is when the model %s", async (_, script) => {
    server.answer(script);
    expect(await rewrite(UNSURE)).toBe(UNSURE);
  });

  test("stays as it is when the time is over, or the turn is cancelled", async () => {
    server.answer({ ending: "hang", tokens: [] });
    expect(await rewrite(UNSURE, 50)).toBe(UNSURE);
    server.answer({ ending: "hang", tokens: [] });
    expect(await rewrite(UNSURE, 60_000, AbortSignal.timeout(50))).toBe(UNSURE);
  });

  test.each(["What is the capital of Peru?", "Is it lively?", "刚才说的 Porto 在哪", "and for lunch?"])(
    "%j asks no model: rules are sure",
    async (question) => {
      expect(await rewrite(question)).toBe(question);
      expect(server.seen).toEqual([]);
    },
  );
});

describe("a second look", () => {
  const SAID = exchanges(
    ["My favourite director is Agnès Varda.", "A wonderful choice."],
    ["I am allergic to peanuts.", "I will remember that."],
    ["The rent of my flat in Porto is 900 euros.", "That is quite a lot."],
  );
  const NOW = new Date("2024-06-12T12:00:00Z");
  const memory = useTestEpisodicMemory();
  test("a reranker's order of the best is taken, and recall's own is kept when the reranker fails", async () => {
    await memory.remember(SAID, { userId: "ada", at: "2024-03-05T12:00:00Z" });
    const heard: unknown[] = [];
    const { index, episodes, embedder } = memory;
    const parts: RecallParts = {
      index,
      episodes,
      embedder,
      timeZone: "UTC",
      minSimilarity: -1,
      now: () => NOW,
      onError: (error) => void heard.push(error),
    };
    const recallWith = (rerank?: RecallParts["rerank"]) => makeRecall({ ...parts, rerank });
    const asked = { tenantId: "tenant", userId: "ada", question: "director Varda peanuts flat", limit: 2 };
    const own = (await recallWith()({ ...asked, limit: 3 })).episodes;
    expect(own).toHaveLength(3);

    const seen: string[] = [];
    const turned = await recallWith(async (question, texts) => {
      seen.push(question, ...texts);
      return texts.map((_, place) => place);
    })(asked);
    expect(turned.episodes.map(({ id }) => id)).toEqual([own[2]?.id, own[1]?.id]);
    expect(turned.episodes.map(({ score }) => score)).toEqual([own[0]?.score, own[1]?.score]);
    expect(seen).toEqual([asked.question, ...own.map(({ userMessage, assistantMessage }) => `${userMessage}\n${assistantMessage}`)]);

    const away = new AppError("embedder_unavailable", "It cannot be reached.");
    const kept = await recallWith(() => Promise.reject(away))(asked);
    expect([kept.episodes.map(({ id }) => id), kept.degraded]).toEqual([[own[0]?.id, own[1]?.id], false]);
    expect(heard).toEqual([away]);
  });
});
