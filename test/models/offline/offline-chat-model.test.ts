import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { offlineAnswer, OfflineChatModel } from "../../../models/offline/offline-chat-model.ts";
import { streamAnswer } from "../../../models/stream-answer.ts";
import { assemblePrompt, type PromptParts } from "../../../prompt/assemble-prompt.ts";
import { enWelcome } from "../../../web/texts/en-talk.ts";
import { zhWelcome } from "../../../web/texts/zh-talk.ts";

const SYSTEM = new SystemMessage("You are a helpful assistant. Blue whales live in the sea.");

/** A prompt of user texts, each earlier one answered, the last one not. */
function promptOf(...texts: string[]): BaseMessage[] {
  const earlier = texts.slice(0, -1).flatMap((text) => [new HumanMessage(text), new AIMessage("Noted, the answer is 42.")]);
  return [SYSTEM, ...earlier, new HumanMessage(texts.at(-1) ?? "")];
}

/** The prompt as the graph makes it. */
const assembled = (message: string, parts: Partial<PromptParts>): BaseMessage[] =>
  assemblePrompt({ summary: null, window: [], message, tokenBudget: 8_000, ...parts }).messages;

describe("the offline answer", () => {
  test.each([
    ["Hello!", "This is the offline model."],
    ["你好", "我是离线模型（offline model）。"],
    ["", "This is the offline model."],
    ["I moved to Porto.", "The offline model has read this; ask a question to see what is remembered."],
    ["Remember that my flight leaves at 6 pm.", "The offline model has read this; ask a question to see what is remembered."],
    ["我的狗叫小白", "离线模型（offline model）读到了；提个问题，看看记住了什么。"],
    ["What is a quasar?", "The offline model found nothing about this in what it was given."],
    ["帮我 check 一下 flight", "离线模型（offline model）在收到的内容里没有找到与此有关的话。"],
  ])("to %j is one sentence in its language", (message, answer) => expect(offlineAnswer(promptOf(message))).toBe(answer));

  const ENGLISH = "I live in Oslo. My favourite colour is green! I have two cats and one dog.";
  const CHINESE = "我住在上海。我最喜欢的颜色是绿色！我有两只猫。";
  const NOTHING = "found nothing";
  test.each<[string, string[], string]>([
    ["the sentence that fits best", [ENGLISH, "Which colour do I like?"], '"My favourite colour is green!"'],
    ["another for another question", [ENGLISH, "How many cats and dogs, I mean cats, do I have?"], '"I have two cats and one dog."'],
    ["the Chinese one", [CHINESE, "我喜欢什么颜色？"], "“我最喜欢的颜色是绿色！”"],
    ["another Chinese one", [CHINESE, "住在哪里？"], "“我住在上海。”"],
    ["the latest of equals", ["My colour is green.", "My colour is blue.", "What is my colour?"], '"My colour is blue."'],
    ["the latest of Chinese equals", ["我的猫叫小花。", "我的猫现在叫小白。", "我的猫叫什么？"], "“我的猫现在叫小白。”"],
    [
      "no question without a mark",
      ["where do my parents live", "My parents live in Faro.", "Where do my parents live?"],
      '"My parents live in Faro."',
    ],
    ["nothing of the system text", ["Hi.", "Where do whales live?"], NOTHING],
    ["nothing of the assistant", ["Hi.", "Is the answer 42?"], NOTHING],
    ["no earlier question", ["Which colour do I like?", "Which colour do I like?"], NOTHING],
    ["no earlier Chinese question", ["我喜欢什么颜色？", "我喜欢什么颜色？"], "没有找到"],
    ["nothing for words that every question has", ["I do like the sea.", "What is the name of my dog?"], NOTHING],
    ["what looks like a template as it is", ["The hint is $& {name} %s $1.", "the hint?"], '"The hint is $& {name} %s $1."'],
  ])("quotes of what was said %s", (_name, texts, quoted) => expect(offlineAnswer(promptOf(...texts))).toContain(quoted));

  test("quotes what an earlier exchange says that the user said, and asks only what stands behind them", () => {
    const recalled = "<earlier_exchanges>\n[2026-01-03] User:\n> 我最喜欢的导演是诺兰。\nAssistant:\n> 好的。\n</earlier_exchanges>\n\n";
    expect(offlineAnswer(promptOf(`${recalled}我喜欢哪位导演？`))).toContain("“我最喜欢的导演是诺兰。”");
    expect(offlineAnswer(promptOf(`${recalled}What is a quasar?`))).toContain(NOTHING);
  });

  const text = "Rooms are booked early. The limit in Lisbon is 140 euros.";
  const passages = [
    { id: "a", documentId: "d", title: "Travel handbook", heading: "Hotels", text, score: 2 },
    { id: "b", documentId: "e", title: "报销制度", heading: "", text: "差旅费用应在返回后三十天内报销。", score: 1 },
  ];
  const documents = { passages, isIncomplete: false };

  test("quotes a passage with its number, before what the user said", () => {
    const answer = offlineAnswer(assembled("What is the limit in Lisbon?", { documents }));
    expect(answer).toContain('"Travel handbook > Hotels" says: "The limit in Lisbon is 140 euros." [1]');
    expect(offlineAnswer(assembled("差旅费用多久内报销？", { documents }))).toContain(
      "《报销制度》中写道：“差旅费用应在返回后三十天内报销。” [2]",
    );
    const prompt = assembled("What is my cat called?", { documents }).slice(1);
    expect(offlineAnswer([SYSTEM, new HumanMessage("My cat is called Tom."), ...prompt])).toContain(
      'You said earlier: "My cat is called Tom."',
    );
  });

  const profile = (content: string) => ({ coreMemory: [{ section: "profile", content, version: 3 }] });
  const window = (...said: string[]) => ({
    window: said.map((content, index) => ({
      id: String(index),
      role: "user" as const,
      content,
      tokenCount: 9,
      createdAt: "2026-01-01T00:00:00.000Z",
    })),
  });

  test.each<[string, string, string[], string]>([
    ["Lives in Porto.\nName: Ada.", "Where do I live?", ["I like Lisbon."], 'What I know about you: "Lives in Porto."'],
    ["住在杭州。", "我现在住在哪里？", ["我喜欢上海。"], "关于你，我知道：“住在杭州。”"],
    ["Lives in Porto.", "我住在哪里？", [], "关于你，我知道：“Lives in Porto.”"],
    ["住在杭州。", "Where do I live now?", [], 'What I know about you: "住在杭州。"'],
    ["Name: Ada.", "Who am I?", [], 'What I know about you: "Name: Ada."'],
    ["Name: Ada.\nLives in Lisbon.", "What do you know about me?", [], 'What I know about you: "Name: Ada. Lives in Lisbon."'],
    ["名字：小雅。\n住在里斯本。", "你知道我的哪些事？", [], "关于你，我知道：“名字：小雅。 住在里斯本。”"],
  ])("quotes core memory before what the user said in other words: %j, %j", (known, question, said, answer) =>
    expect(offlineAnswer(assembled(question, { ...profile(known), ...window(...said) }))).toBe(answer),
  );

  test.each<[string, string, string[], string, string]>([
    ["Lives in Lisbon.", "Where do I live?", ["I moved to Porto."], "Porto", "Lisbon"],
    ["Lives in Lisbon.", "Where do I live?", ["I live in Lisbon.", "Sorry, I was wrong: I live in Porto."], "Porto", "Lisbon"],
    ["Lives in Lisbon.", "我住在哪里？", ["I moved to Porto last week."], "Porto", "Lisbon"],
    ["Name: Ann.", "What is my name?", ["My name is Anna, not Ann."], "Anna", '"Name: Ann."'],
    ["Cat is called Tom.", "What is my cat called?", ["My cat is called Kim now."], "Kim", "Tom"],
    ["Works at the harbour.", "Where do I work?", ["I work at the airport now."], "airport", "harbour"],
    ["住在上海。", "我住在哪里？", ["我上周搬到杭州了。"], "杭州", "上海"],
    ["名字：王芳。", "我叫什么名字？", ["我改名叫王方了。"], "王方", "王芳"],
    ["猫叫小花。", "我的猫叫什么？", ["我的猫改名叫小白了。"], "小白", "小花"],
    ["在海港上班。", "我在哪里上班？", ["我现在在机场上班了。"], "机场", "海港"],
    ["Lives in Lisbon.", "Where do I live?", ["Forget where I live."], "found nothing", "Lisbon"],
  ])("reads the window before core memory, which is late: %j, %j, %j", (known, question, said, wanted, late) => {
    const answer = offlineAnswer(assembled(question, { ...profile(known), ...window(...said) }));
    expect(answer).toContain(wanted);
    expect(answer).not.toContain(late);
  });

  test.each([
    ["Name: Ada.", "What is my dog's name?", "My dog Rex has a long name."],
    ["Lives in Porto.", "Where does my sister live?", "My sister lives in Faro."],
    ["Lives in Porto.", "Do I live with a dog or a cat in Lisbon?", "My dog and my cat fight."],
  ])("takes no line about something else: %j, %j", (known, question, said) => {
    const quoted = offlineAnswer(assembled(question, { ...profile(known), ...window(said) }));
    if (question.startsWith("Do I live")) expect(quoted).toContain(known);
    else expect(quoted).toBe(`You said earlier: "${said}"`);
  });

  test("never quotes what core memory contradicts", () => {
    const recalled = "<earlier_exchanges>\n[2026-01-03] User:\n> I moved to Lisbon.\nAssistant:\n> I see.\n</earlier_exchanges>\n\n";
    const prompt = assembled(`${recalled}What did I say about a move to Lisbon?`, profile("Lives in Porto."));
    expect(offlineAnswer(prompt)).not.toContain("moved");
  });

  test("quotes an archived memory, which has no answer of an assistant", () => {
    const said = {
      userMessage: "The passport expires in May.",
      assistantMessage: "",
      messageIds: ["q"],
      createdAt: "2026-01-02T00:00:00.000Z",
    };
    const prompt = assembled("When does the passport expire?", {
      episodes: [{ id: "m", score: 1, similarity: null, conversationId: "c", ...said }],
    });
    expect(prompt.at(-1)?.text).toContain("[2026-01-02] Noted:\n> The passport expires in May.");
    expect(offlineAnswer(prompt)).toContain('You said earlier: "The passport expires in May."');
  });

  test("takes neither notes about documents nor tags for the question", () =>
    expect(offlineAnswer(assembled("Is anything there?", { documents: { passages: [], isIncomplete: true } }))).toContain(NOTHING));
});

describe.each([
  ["English", enWelcome.examples],
  ["Chinese", zhWelcome.examples],
])("the examples in %s that the page proposes to a new user", (_language, [told = "", question = ""]) => {
  test("tell something and bring it back, also before core memory has it", () =>
    expect(offlineAnswer(promptOf(told, question))).toMatch(/Ada.*Lisbon|小雅.*里斯本/));
});

describe("the offline chat model", () => {
  test.each(["Hello, who are you?", "你好，你是谁？"])(
    "streams its answer to %p in many tokens, whole, and counts none",
    async (message) => {
      const tokens: string[] = [];
      const prompt = [new HumanMessage(message)];
      const timeouts = { firstTokenMs: 10_000, idleMs: 10_000 };
      const answer = await streamAnswer({ model: new OfflineChatModel(), prompt, timeouts, onToken: (token) => tokens.push(token) });
      expect(answer).toEqual({ text: offlineAnswer(prompt), toolCalls: [], usage: undefined, error: null, cut: null });
      expect(tokens.join("")).toBe(answer.text);
      expect(tokens.length).toBeGreaterThan(10);
    },
  );

  test("property: the tokens together are the answer, also the one that is not streamed, whatever is quoted in it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), async (said) => {
        const prompt = [new HumanMessage(`colour ${said}`), new HumanMessage("colour?")];
        let together = "";
        for await (const chunk of await new OfflineChatModel().stream(prompt)) together += chunk.text;
        expect(together).toBe(offlineAnswer(prompt));
        expect((await new OfflineChatModel().invoke(prompt)).text).toBe(together);
      }),
      { numRuns: 50 },
    );
  });
});
