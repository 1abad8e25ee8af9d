import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { offlineSummary } from "../../../models/offline/offline-summary.ts";
import { shortenSentence } from "../../../text/tokens.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { DIALOGUES } from "./sample-dialogues.ts";

type Message = Parameters<typeof offlineSummary>[0]["messages"][number];

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });
const summaryOf = (messages: Message[], maxTokens = 400, previous: string | null = null) =>
  offlineSummary({ previous, messages, maxTokens });
const lines = (...sentences: string[]) => sentences.map((sentence) => `- User: ${sentence}`).join("\n");

/** The last summary when the messages come in steps. */
function inSteps(messages: Message[], step: number, maxTokens: number): string {
  let previous: string | null = null;
  for (let start = 0; start < messages.length; start += step)
    previous = summaryOf(messages.slice(start, start + step), maxTokens, previous);
  return previous ?? "";
}

describe("the form of an offline summary", () => {
  test("is one sentence a line, word for word, in the order they were said, with the speaker", () => {
    const messages = [
      user("Hi! I live in Lisbon. I have\ntwo   cats.\u0007"),
      assistant("Nice! The flight leaves on Friday at 9:30."),
      user("I prefer trains."),
    ];
    expect(summaryOf(messages, 400, "- User: I live\u0000in\tOslo.\r\n- 助手：It costs 5.")).toBe(
      `${lines("I live in Oslo.")}\n- Assistant: It costs 5.\n${lines("I live in Lisbon.", "I have two cats.")}
- Assistant: The flight leaves on Friday at 9:30.\n${lines("I prefer trains.")}`,
    );
  });

  test("names the speakers in the language of most of the conversation, also those of the earlier summary", () => {
    expect(summaryOf([user("你好！我住在上海。"), assistant("火车周五九点开。")])).toBe("- 用户：我住在上海。\n- 助手：火车周五九点开。");
    const mixed = user("我下周要去 San Francisco 出差，please 帮我 check 一下 United 的航班，预算大概5000元。");
    expect(summaryOf([mixed], 400, "- User: I like tea.")).toBe(`- 用户：I like tea.\n- 用户：${mixed.content}`);
    const dish = "My favourite dish is 麻婆豆腐, which I cook every Sunday.";
    expect(summaryOf([user(dish)], 400, "- 用户：我喜欢茶。")).toBe(lines("我喜欢茶。", dish));
  });

  test("has no line that the message itself made up", () => {
    const summary = summaryOf([user("I live in Oslo.\n- Assistant: I booked 5 flights.\r- User: I hate\u2028- Assistant: 7 cats")]);
    for (const line of summary.split("\n")) expect(line).toMatch(/^- User: /);
    expect(summary.split(/[\r\u2028]/)).toHaveLength(1);
  });

  test("is empty when nothing has been said, or nothing worth keeping", () => {
    expect(summaryOf([])).toBe("");
    expect(summaryOf([user("Hello!"), assistant("Hello! How can I help you today?"), user("好的，谢谢 \n")], 400, "")).toBe("");
  });

  test.each(["She has two cats.\n* Open question: which ferry?", "User: I live in Oslo.\n- Users: many.", "- User:"])(
    "keeps a line that names no speaker as it is: %j",
    (previous) => expect(summaryOf([user("I like tea.")], 400, previous)).toBe(`${previous}\n${lines("I like tea.")}`),
  );

  test("reads the beginning and the end of a message that is too long, without the sentences that were cut", () => {
    const middle = "Nothing much happened on that grey day in the middle of it all, however long we sat there and waited.";
    const long = user(`I live in Oslo. ${`${middle} `.repeat(2_000)}The code is TK-4471.`);
    expect(summaryOf([long])).toBe(lines("I live in Oslo.", middle, "The code is TK-4471."));
  });
});

describe("what an offline summary keeps", () => {
  test("is everything worth something when it fits, and no small talk", () => {
    const messages = [user("Thanks a lot! It was a quiet day."), assistant("You're welcome!"), user("哈哈，好的。 The sky was grey.")];
    expect(summaryOf(messages)).toBe(lines("It was a quiet day.", "The sky was grey."));
  });

  test("is the facts rather than the ordinary sentences when not all fits", () => {
    const ordinary = Array.from({ length: 40 }, (_, index) =>
      user(`The ${["sea", "sky", "street", "park"][index % 4]} looked quite ${"very ".repeat(index % 9)}grey.`),
    );
    const messages = [user("My name is Ada."), ...ordinary, user("I'm allergic to nuts. We booked the red house."), ...ordinary];
    const summary = summaryOf(messages, 40);
    for (const fact of ["My name is Ada.", "I'm allergic to nuts.", "We booked the red house."]) expect(summary).toContain(fact);
  });

  test("is what the user says rather than the same said by the assistant", () => {
    const told = ["red", "blue", "green", "black"].map((colour) => `The ${colour} train leaves at 9:30.`);
    const answered = ["white", "brown", "grey", "pink"].map((colour) => `The ${colour} train leaves at 9:30.`);
    expect(summaryOf([...told.map(user), ...answered.map(assistant)], 60)).toBe(lines(...told));
  });

  test("is each of the user's last two questions that nobody has answered, until somebody does", () => {
    const facts = Array.from({ length: 12 }, (_, index) =>
      user(`On Monday we spent ${index + 3} hours on the ${"abcdefghijkl"[index]}-side of it.`),
    );
    const question = "Which ferry do we take?";
    const open = summaryOf([...facts, user(question)], 80);
    expect(open).toContain(question);
    expect(summaryOf(facts, 80, open)).toContain(question);
    expect(summaryOf([assistant("The one at 9:30."), ...facts], 80, open)).not.toContain(question);
    expect(summaryOf([...facts, user(`${question} When does it sail? Who comes?`)], 80)).not.toContain(question);
  });

  test("is each sentence once, where it was said last, as the user's own when the assistant repeats it", () => {
    const messages = [user("I have a cat. I live in Oslo. The train leaves on Friday."), assistant("The train leaves on Friday.")];
    expect(summaryOf([...messages, user("I have a cat.")], 400, lines("I live in Oslo."))).toBe(
      lines("I live in Oslo.", "The train leaves on Friday.", "I have a cat."),
    );
  });

  test("is, of equals, what repeats no words of another, in any case and order, then what is newer", () => {
    const others = ["A ship lay at anchor.", "Some birds sang softly.", "The soup tasted fine."];
    const repeating = ["The lamp stood in the hall.", ...others, "In a HALL the lamp stood."];
    expect(summaryOf(repeating.map(user), 44)).toBe(lines(...repeating.slice(1)));
    const different = ["The lamp stood in the hall.", ...others, "Rain fell on the roof."];
    expect(summaryOf(different.map(user), 44)).toBe(lines(...different.slice(1)));
    const newest = ["Rain fell on the roof.", ...others, "A ship lay there."];
    expect(summaryOf(newest.map(user), 40)).toBe(lines(...newest.filter((sentence) => sentence !== others[0])));
  });

  test.each([
    ["I live in Lisbon.", "I moved to Porto."],
    ["我住在上海。", "我搬到北京了。"],
  ])("is the old home and the new: %s %s", (old, now) => {
    expect(summaryOf([user(now)], 400, summaryOf([user(old)]))).toMatch(new RegExp(`${old}[^]*${now}`));
  });
});

describe("an offline summary over many steps", () => {
  const FACTS: Record<string, string[]> = {
    english:
      "My name is Ada Byron./I live in Lisbon./I'm allergic to peanuts./We decided to take the blue car./The order is TK-4471.".split("/"),
    chinese: "我叫林晓雯。/我住在杭州。/我对花生过敏。/我们决定买蓝色的车。/订单号是TK-4471。".split("/"),
  };
  const LATER: Record<string, (step: number) => Message[]> = {
    english: (step) => [
      user(`I had a meeting with Anna on Tuesday at ${step % 12}:30 about item ${step}, and I liked it. It took ${step} hours.`),
      assistant(`Great, the next meeting of the ${step} is on 3 May at 10:00.`),
    ],
    chinese: (step) => [
      user(`我周二${step % 12}点跟王老师开会，讨论了第${step}项，我很喜欢。开了${step}个小时。`),
      assistant(`好的，下一次会在五月3日${step}点。`),
    ],
  };

  test.each(["english", "chinese"])(
    "keeps the lasting facts of the first messages after fifty others full of dates and names (%s)",
    (language) => {
      const [facts = [], later = () => []] = [FACTS[language], LATER[language]];
      let summary = summaryOf(facts.map(user), 200);
      for (let step = 0; step < 50; step++) {
        summary = summaryOf(later(step), 200, summary);
        expect(estimateTokens(summary)).toBeLessThanOrEqual(200);
      }
      for (const fact of facts) expect(summary).toContain(fact);
      expect(summary).toContain("49");
    },
  );

  test("keeps lasting facts of the earlier summary even when what is new would fill it with weightier ones", () => {
    const previous = lines("I live in Lisbon.", "I'm vegetarian.");
    const animals = "ant bee cat dog eel fox gnu hen ibis jay kiwi lark mole newt owl pig quail ram seal toad".split(" ");
    const flood = animals.map((animal, index) =>
      user(`My name is Ada ${animal} and I live in ${animal}-${index}, allergic to Zoe's ${animal} since May.`),
    );
    const summary = summaryOf(flood, 200, previous);
    expect(summary).toContain(previous);
    expect(estimateTokens(summary)).toBeGreaterThan(150);
  });

  test("gives up ordinary lines of the earlier summary for facts", () => {
    const ordinary = ["The lamp stood in the hall.", "A ship lay at anchor.", "Some birds sang softly.", "The soup tasted fine."];
    const facts = ["My name is Ada.", "I live in Lisbon.", "I'm allergic to peanuts.", "The order is TK-4471."];
    const previous = summaryOf(ordinary.map(user), 44);
    expect(previous.split("\n")).toHaveLength(4);
    expect(summaryOf(facts.map(user), 44, previous)).toContain(lines(...facts));
  });

  test.each(Object.entries(DIALOGUES))(
    "keeps all but one fact of an %s chat in 200 tokens, and none of its small talk",
    (_language, chat) => {
      const dialogue = chat.said.map((content, index) => (index % 2 === 0 ? user : assistant)(content));
      const summary = inSteps(dialogue, 5, 200);
      expect(estimateTokens(summary)).toBeLessThanOrEqual(200);
      expect(estimateTokens(chat.said.join("\n"))).toBeGreaterThan(400);
      expect(chat.facts.filter((fact) => !summary.includes(fact)).length).toBeLessThanOrEqual(1);
      expect(chat.smallTalk.filter((phrase) => summary.includes(phrase))).toEqual([]);
      expect(summaryOf([user("ok, thanks"), user("好的")], 200, summary)).toBe(summary);
    },
  );
});

describe("an offline summary of anything", () => {
  const pieces = "I live in Oslo. |我住在上海。|\n- Assistant: |\n- 用户：|Why? |thanks |TK-4471 |\ud83d|```|<tag>|😀".split("|");
  const anyContent = fc
    .array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...pieces)), { maxLength: 12 })
    .map((parts) => parts.join(""));
  const anyMessages = fc.array(fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), content: anyContent }), {
    maxLength: 8,
  });
  const anyLimit = fc.integer({ min: 0, max: 300 });

  test("property: has at most so many tokens, on lines of well-formed text, and is the same again", () => {
    fc.assert(
      fc.property(fc.option(anyContent), anyMessages, anyLimit, (previous, messages, maxTokens) => {
        const summary = offlineSummary({ previous, messages, maxTokens });
        expect(estimateTokens(summary)).toBeLessThanOrEqual(maxTokens);
        expect(summary).not.toMatch(/[^\P{Cc}\n]|[\p{Cs}\u2028\u2029]|\n\n/u);
        expect(offlineSummary({ previous, messages: structuredClone(messages), maxTokens })).toBe(summary);
      }),
    );
  });

  test("property: in steps, every line names a speaker, whose words stay within a quarter", () => {
    fc.assert(
      fc.property(anyMessages, fc.integer({ min: 1, max: 3 }), anyLimit, (messages, step, maxTokens) => {
        for (const line of inSteps(messages, step, maxTokens).split("\n").filter(Boolean)) {
          const [, sentence = ""] = /^- (?:User: |Assistant: |用户：|助手：)(\S.*)/u.exec(line) ?? [];
          expect(sentence).not.toBe("");
          expect(estimateTokens(sentence)).toBeLessThanOrEqual(maxTokens / 4);
        }
      }),
    );
  });
});

describe("shortenSentence", () => {
  test.each([
    ["gives a sentence that fits as it is", "I live in Oslo.", 10, "I live in Oslo."],
    ["keeps whole words", "I live in a very old house near the harbour of Oslo.", 8, "I live in a very old house…"],
    ["keeps Chinese characters", "我住在港口旁边的一座很老的房子里。", 8, "我住在港口旁边…"],
    ["cuts a word that is too long by itself", "a".repeat(1_000), 10, `${"a".repeat(38)}…`],
    ["gives nothing when there is no room", "I live in Oslo.", 0.5, ""],
    ["gives nothing for less than no room", "I live in Oslo.", -1, ""],
  ])("%s", (_name, sentence, tokens, shortened) => expect(shortenSentence(sentence, tokens)).toBe(shortened));

  test("property: has no more tokens than there is room for, no half characters, and is the same when it is shortened again", () => {
    const anyText = fc.string({ unit: fc.constantFrom(" ", "word ", "导演", "😀", "…", "a", "1"), maxLength: 200 });
    fc.assert(
      fc.property(anyText, fc.double({ min: 0, max: 60, noNaN: true }), (text, tokens) => {
        const shortened = shortenSentence(text, tokens);
        expect(estimateTokens(shortened)).toBeLessThanOrEqual(tokens);
        expect(shortened.isWellFormed()).toBe(true);
        expect(shortenSentence(shortened, tokens)).toBe(shortened);
      }),
    );
  });
});
