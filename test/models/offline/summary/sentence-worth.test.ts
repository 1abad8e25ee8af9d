import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isQuestion, sentenceWorth } from "../../../../models/offline/sentence-worth.ts";

const ORDINARY = { english: "The weather was quite grey outside.", chinese: "外面的天色一直灰蒙蒙的。" };

const WORTH_KEEPING = {
  english: {
    "a name": "My name is Ada.",
    "a home": "We live near the harbour.",
    "a move": "I moved to Porto.",
    work: "I work as a nurse.",
    "an allergy": "I'm allergic to nuts.",
    "what they are": "I'm a nurse.",
    "a turn of life": "I quit smoking.",
    family: "My sister plays chess.",
    "a possession": "I have a sailing boat.",
    "a liking": "I love jazz.",
    "a dislike": "I can't stand coriander.",
    "a preference": "I'd rather than by bus, I prefer to walk.",
    "a decision": "We decided against the blue one.",
    "an agreement": "Let's take the train.",
    "a booking": "The hotel is booked.",
    "an instruction": "Please call me captain.",
    "a rule": "Never use emojis.",
    "a deadline": "The report is due tomorrow.",
    "a weekday": "It happens on Thursday.",
    "a month": "It begins in October.",
    "a number": "It costs 45.",
    "a number in words": "There were twelve of them.",
    "a code": "The ticket is fact-0042.",
    "an address of e-mail": "Write to ada@example.org then.",
    "somebody's name": "The plumber is called Tiago.",
  },
  chinese: {
    "a name": "我叫林晓雯。",
    "a home": "我住在杭州。",
    "a move": "我上礼拜搬到深圳了。",
    work: "我在一家医院工作。",
    "an allergy": "我对花生过敏。",
    "what they are": "我是护士。",
    "a turn of life": "她终于毕业了。",
    family: "我妹妹会下棋。",
    "a possession": "我有一条船。",
    "a liking": "我喜欢爵士乐。",
    "a dislike": "我讨厌香菜。",
    "a preference": "我偏好步行。",
    "a decision": "我们决定不要蓝色的。",
    "an agreement": "我们约好坐火车去。",
    "a plan": "我打算学游泳。",
    "an instruction": "请记住这件事。",
    "a rule": "以后请别用表情符号。",
    "a deadline": "报告明天截止。",
    "a weekday": "事情在周四发生。",
    "a month": "十月开始。",
    "a number": "一共45元。",
    "a number in words": "一共来了十二个人。",
    "a code": "车次是G2194。",
    "somebody's name": "那位是王老师。",
  },
};

describe("sentenceWorth", () => {
  for (const language of ["english", "chinese"] as const) {
    test.each(Object.entries(WORTH_KEEPING[language]))(
      `finds %s in ${language} worth more than an ordinary sentence`,
      (_kind, sentence) => {
        expect(sentenceWorth(sentence, "user")).toBeGreaterThanOrEqual(sentenceWorth(ORDINARY[language], "user") * 2);
      },
    );
  }

  test("finds an ordinary sentence of the user worth something, of the assistant nothing", () => {
    for (const sentence of Object.values(ORDINARY)) {
      expect(sentenceWorth(sentence, "user")).toBeGreaterThan(0);
      expect(sentenceWorth(sentence, null)).toBeGreaterThan(0);
      expect(sentenceWorth(sentence, "assistant")).toBe(0);
    }
  });

  test("finds small talk worth nothing, whoever makes it and even as the last question", () => {
    for (const sentence of ["Thanks!", "How are you?", "好的，谢谢", "哈哈"]) {
      for (const speaker of ["user", "assistant", null] as const) expect(sentenceWorth(sentence, speaker, true)).toBe(0);
    }
  });

  test("finds names, homes, allergies and codes worth more than dates, numbers and family", () => {
    for (const language of ["english", "chinese"] as const) {
      const worthOf = (kind: "a name" | "a home" | "an allergy" | "a code" | "a weekday" | "a number in words" | "family") =>
        sentenceWorth(WORTH_KEEPING[language][kind], "user");
      for (const lasting of ["a name", "a home", "an allergy", "a code"] as const) {
        for (const passing of ["a weekday", "a number in words", "family"] as const)
          expect(worthOf(lasting)).toBeGreaterThan(worthOf(passing));
      }
    }
  });

  test("finds several facts in a sentence worth more than one of them", () => {
    expect(sentenceWorth("I live in Oslo with two cats since May.", "user")).toBeGreaterThan(sentenceWorth("I live in Oslo.", "user"));
    expect(sentenceWorth("我十月三号和王老师去成都。", "user")).toBeGreaterThan(sentenceWorth("十月三号去。", "user"));
  });

  test("finds an amount worth more than a bare number", () => {
    expect(sentenceWorth("It costs 45 euros.", "user")).toBeGreaterThan(sentenceWorth("It says 45.", "user"));
    expect(sentenceWorth("一共45元。", "user")).toBeGreaterThan(sentenceWorth("上面写着45。", "user"));
  });

  test("finds the same words of the assistant worth less, but a date, number, name or decision worth something", () => {
    for (const sentence of [
      "The train leaves on Friday at 9:30.",
      "It costs 45 euros.",
      "The hotel is booked.",
      "火车周五九点开。",
      "酒店已经订好了。",
    ]) {
      expect(sentenceWorth(sentence, "assistant")).toBeGreaterThan(0);
      expect(sentenceWorth(sentence, "assistant")).toBeLessThan(sentenceWorth(sentence, "user") / 2);
    }
    for (const courtesy of ["I love to help you with that.", "我很喜欢这个主意呢。"]) expect(sentenceWorth(courtesy, "assistant")).toBe(0);
  });

  test("finds an open question worth much more than the same question when it has been answered", () => {
    for (const question of ["Which vaccinations does the dog need?", "小狗要打哪几种疫苗？"]) {
      expect(sentenceWorth(question, "user", true)).toBeGreaterThan(5 * sentenceWorth(question, "user"));
      expect(sentenceWorth(question, "user")).toBeGreaterThan(0);
    }
  });

  test("takes a question about the assistant's likings for no liking of the user", () => {
    expect(sentenceWorth("Do you love jazz?", "user")).toBeLessThan(sentenceWorth(ORDINARY.english, "user"));
    expect(sentenceWorth("你喜欢爵士乐吗？", "user")).toBeLessThan(sentenceWorth(ORDINARY.chinese, "user"));
  });

  test("values what a question tells besides asking", () => {
    const told = "I'm moving to Berlin in March, any advice?";
    expect(sentenceWorth(told, "user")).toBe(sentenceWorth(told.replace("?", "."), "user"));
  });

  test("property: is never negative and bounded, for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.constantFrom("user", "assistant", null), fc.boolean(), (text, speaker, isOpen) => {
        const worth = sentenceWorth(text, speaker, isOpen);
        expect(worth).toBeGreaterThanOrEqual(0);
        expect(worth).toBeLessThan(30);
      }),
    );
  });
});

describe("isQuestion", () => {
  test("knows question marks of both languages, also before a closing quotation mark", () => {
    for (const question of ["Why?", "为什么？", '"Why?"', "“为什么？”", "(why?)"]) expect(isQuestion(question)).toBe(true);
    for (const statement of ["Why.", "Why? Because.", "为什么。", "?!", ""]) expect(isQuestion(statement)).toBe(false);
  });
});
