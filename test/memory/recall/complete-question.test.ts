import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { completeQuestion, type RecentMessage } from "../../../memory/recall/complete-question.ts";
import { anyText } from "../../support/samples/any-text.ts";

const films: RecentMessage[] = [
  { role: "user", content: "Which films should I watch this weekend?" },
  {
    role: "assistant",
    content: "Here are some. Parasite is a dark comedy. Its director is Bong Joon-ho, who was born in Daegu. Enjoy!",
  },
];
const hotels: RecentMessage[] = [
  { role: "user", content: "Where can I stay in Lisbon?" },
  {
    role: "assistant",
    content: "Three ideas:\n1. Hotel Aurora near the river\n2. Casa Verde with a garden\n3. Pension Sol, the cheapest\nTell me more.",
  },
];
const chinese: RecentMessage[] = [
  { role: "user", content: "周末看什么电影好？" },
  { role: "assistant", content: "可以看《饮食男女》。导演是李安，他出生在屏东。女主角是吴倩莲。" },
];
const dishes: RecentMessage[] = [
  { role: "user", content: "成都有什么好吃的？" },
  { role: "assistant", content: "推荐三样：\n1、麻婆豆腐，陈麻婆家最好\n2、钟水饺，甜辣口\n3、兔头，要会啃" },
];

/** What is added to the question; empty when it stays as it is. */
const added = (question: string, recent: RecentMessage[]): string => completeQuestion(question, recent).slice(question.length).trim();

describe("completeQuestion", () => {
  test.each([
    ["Where was that director you mentioned born?", films, "Bong Joon-ho"],
    ["Who is that director?", films, "Bong Joon-ho"],
    ["How old is he?", films, "Bong Joon-ho"],
    ["and him?", films, "Bong Joon-ho"],
    ["What else did he make?", films, "Bong Joon-ho"],
    ["Is it scary?", films, "Bong"],
    ["Do I like it?", films, "films"],
    ["what about the comedy you suggested?", films, "Parasite"],
    ["tell me more", films, "Bong"],
    ["why?", films, "films"],
    ["Would my wife like the film you just mentioned?", films, "films"],
    ["What about Sunday?", films, "weekend"],
    ["How much is the second one?", hotels, "Casa Verde"],
    ["Is the last one quiet?", hotels, "Pension Sol"],
    ["option 1 please, is it near the river?", hotels, "Hotel Aurora"],
    ["What's the weather like there?", hotels, "Lisbon"],
    ["Which one is cheaper?", hotels, "Lisbon"],
    ["Can I walk from the first option to the station?", hotels, "Hotel Aurora"],
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
    ["第一个在哪里吃", dishes, "麻婆豆腐"],
    ["那里冷吗", dishes, "成都"],
    ["然后呢？", dishes, "成都"],
    ["那重庆呢？", dishes, "好吃"],
  ])("%j points back", (question, recent, expected) => expect(added(question, recent)).toContain(expected));

  test.each([
    "What is my dog called?",
    "Which restaurant did you recommend for my mother's birthday?",
    "Where does my sister live and what does she do?",
    "When did Anna say that she would visit?",
    "Is it possible to cancel my gym contract?",
    "What time is it?",
    "How long does it take to get to Oslo?",
    "Is there a pharmacy near my home?",
    "Do you remember that I like tea?",
    "What was that film we watched last summer in Rome?",
    "What did I do on that Monday in May?",
    "What is the second week of May like for me?",
    "What was my first job?",
    "Does my boss know his email is broken?",
    "How many people are there in my team?",
    "What is my wife's favourite book?",
    "What did I decide about the car?",
    "Thanks!",
    "Hello",
    "And what did I say about my trip to Japan?",
    "What languages do I speak?",
    "我的猫叫什么名字？",
    "我妈妈说她几点来？",
    "我上次看的那部电影叫什么",
    "这个周末我有什么安排",
    "我什么时候去的上海",
    "我的钥匙呢？",
    "公司那边的会议是几点",
    "我会弹吉他吗",
    "我还有其他爱好吗",
    "我第一个孩子叫什么",
    "第二次面试是哪天",
    "我可以问这个问题吗",
    "好的，谢谢",
    "上次推荐的餐厅在哪",
    "我喜欢什么颜色",
    "小王和他老婆住在哪",
    "我这个月花了多少钱",
    "推荐一部电影",
    "",
  ])("%j stays as it is", (question) => {
    for (const recent of [films, hotels, chinese, dishes]) expect(completeQuestion(question, recent)).toBe(question);
  });

  test("leaves a question alone whose thing was not said lately", () => {
    expect(added("Where was that plumber you mentioned?", films)).toBe("");
    expect(added("刚才提到的餐厅在哪", chinese)).toBe("");
  });

  test("finds an item in a series of words", () => {
    const recent: RecentMessage[] = [{ role: "assistant", content: "可以选红茶、绿茶和乌龙茶。" }];
    expect(added("第二个贵吗", recent)).toBe("绿茶");
    const colours: RecentMessage[] = [{ role: "assistant", content: "They come in crimson, teal, and amber." }];
    expect(added("Is the second one in stock?", colours)).toBe("teal");
  });

  test("prefers the latest sentence that holds the thing", () => {
    const recent: RecentMessage[] = [
      { role: "assistant", content: "The director Ang Lee lives in New York." },
      { role: "user", content: "I prefer another director, Agnès Varda." },
      { role: "assistant", content: "Good choice." },
    ];
    expect(added("When was that director born?", recent)).toMatch(/^I prefer another director, Agnès Varda\./);
  });

  test("adds nothing when nothing was said", () => expect(completeQuestion("and him?", [])).toBe("and him?"));

  test("property: keeps the question in front and adds at most sixty words", () => {
    const recent = fc.array(fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), content: anyText }), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(
        fc.constantFrom("and him?", "the second one?", "它呢？", "刚才提到的导演说了什么", "that word?"),
        recent,
        (question, messages) => {
          const completed = completeQuestion(question, messages);
          expect(completed.startsWith(question)).toBe(true);
          expect((completed.slice(question.length).match(/\p{Script=Han}{1,2}|[^\s\p{Script=Han}]+/gu) ?? []).length).toBeLessThanOrEqual(
            61,
          );
        },
      ),
    );
  });
});
