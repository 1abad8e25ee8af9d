import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { sentenceWorth } from "../../../models/offline/sentence-worth.ts";
import { isQuestion } from "../../../text/telling-or-asking.ts";

const ORDINARY = ["The weather was quite grey outside.", "外面的天色一直灰蒙蒙的。"] as const;
const LASTING: [kind: string, english: string, chinese: string][] = [
  ["a name", "My name is Ada.", "我叫林晓雯。"],
  ["a home", "We live near the harbour.", "我住在杭州。"],
  ["an allergy", "I'm allergic to nuts.", "我对花生过敏。"],
  ["a code", "The ticket is fact-0042.", "车次是G2194。"],
];
const PASSING: [kind: string, english: string, chinese: string][] = [
  ["family", "My sister plays chess.", "我妹妹会下棋。"],
  ["a weekday", "It happens on Thursday.", "事情在周四发生。"],
  ["a number in words", "There were twelve of them.", "一共来了十二个人。"],
];
const OTHERS: [kind: string, english: string, chinese: string][] = [
  ["a move", "I moved to Porto.", "我上礼拜搬到深圳了。"],
  ["work", "I work as a nurse.", "我在一家医院工作。"],
  ["what they are", "I'm a nurse.", "我是护士。"],
  ["a turn of life", "I quit smoking.", "她终于毕业了。"],
  ["a possession", "I have a sailing boat.", "我有一条船。"],
  ["a liking", "I love jazz.", "我喜欢爵士乐。"],
  ["a dislike", "I can't stand coriander.", "我讨厌香菜。"],
  ["a preference", "I'd rather than by bus, I prefer to walk.", "我偏好步行。"],
  ["a decision", "We decided against the blue one.", "我们决定不要蓝色的。"],
  ["an agreement", "Let's take the train.", "我们约好坐火车去。"],
  ["a booking", "The hotel is booked.", "酒店已经订好了。"],
  ["an instruction", "Please call me captain.", "请记住这件事。"],
  ["a rule", "Never use emojis.", "以后请别用表情符号。"],
  ["a deadline", "The report is due tomorrow.", "报告明天截止。"],
  ["a month", "It begins in October.", "十月开始。"],
  ["a number", "It costs 45.", "一共45元。"],
  ["an address", "Write to ada@example.org then.", "我的邮箱是ada@example.org。"],
  ["a thing of theirs", "My locker is the grey one.", "我的柜子是灰色的。"],
  ["a secret number", "The gate code is 7742.", "大门的密码是7742。"],
  ["somebody's name", "The plumber is called Tiago.", "那位是王老师。"],
];

describe("sentenceWorth", () => {
  test.each([...LASTING, ...PASSING, ...OTHERS])("finds %s worth more than an ordinary sentence: %s %s", (_kind, english, chinese) => {
    expect(sentenceWorth(english, "user")).toBeGreaterThanOrEqual(sentenceWorth(ORDINARY[0], "user") * 2);
    expect(sentenceWorth(chinese, "user")).toBeGreaterThanOrEqual(sentenceWorth(ORDINARY[1], "user") * 2);
  });

  test.each(LASTING)("finds %s worth more than dates, numbers and family", (_kind, english, chinese) => {
    for (const [, passing, passingChinese] of PASSING) {
      expect(sentenceWorth(english, "user")).toBeGreaterThan(sentenceWorth(passing, "user"));
      expect(sentenceWorth(chinese, "user")).toBeGreaterThan(sentenceWorth(passingChinese, "user"));
    }
  });

  test.each(ORDINARY)("finds an ordinary sentence of the user worth something, of the assistant nothing: %s", (sentence) => {
    expect(sentenceWorth(sentence, "user")).toBeGreaterThan(0);
    expect(sentenceWorth(sentence, null)).toBeGreaterThan(0);
    expect(sentenceWorth(sentence, "assistant")).toBe(0);
  });

  test.each(["Thanks!", "How are you?", "好的，谢谢", "哈哈"])(
    "finds small talk worth nothing, even as the last question: %s",
    (sentence) => {
      for (const speaker of ["user", "assistant", null] as const) expect(sentenceWorth(sentence, speaker, true)).toBe(0);
    },
  );

  test.each([
    ["I live in Oslo with two cats since May.", "I live in Oslo."],
    ["我十月三号和王老师去成都。", "十月三号去。"],
    ["It costs 45 euros.", "It says 45."],
    ["一共45元。", "上面写着45。"],
    [ORDINARY[0], "Do you love jazz?"],
    [ORDINARY[1], "你喜欢爵士乐吗？"],
  ])("finds %j worth more than %j", (more, less) => expect(sentenceWorth(more, "user")).toBeGreaterThan(sentenceWorth(less, "user")));

  test.each(["The train leaves on Friday at 9:30.", "It costs 45 euros.", "The hotel is booked.", "火车周五九点开。", "酒店已经订好了。"])(
    "finds %j of the assistant worth something, but less than of the user",
    (sentence) => {
      expect(sentenceWorth(sentence, "assistant")).toBeGreaterThan(0);
      expect(sentenceWorth(sentence, "assistant")).toBeLessThan(sentenceWorth(sentence, "user") / 2);
    },
  );

  test.each(["I love to help you with that.", "我很喜欢这个主意呢。"])("finds the assistant's courtesy worth nothing: %s", (courtesy) =>
    expect(sentenceWorth(courtesy, "assistant")).toBe(0),
  );

  test.each(["Which vaccinations does the dog need?", "小狗要打哪几种疫苗？"])(
    "finds an open question worth much more than an answered one: %s",
    (question) => {
      expect(sentenceWorth(question, "user", true)).toBeGreaterThan(5 * sentenceWorth(question, "user"));
      expect(sentenceWorth(question, "user")).toBeGreaterThan(0);
    },
  );

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

test("a question ends with a question mark of either script, also before a closing quotation mark", () => {
  for (const question of ["Why?", "为什么？", '"Why?"', "“为什么？”", "(why?)"]) expect(isQuestion(question)).toBe(true);
  for (const statement of ["Why.", "Why? Because.", "为什么。", "?!", ""]) expect(isQuestion(statement)).toBe(false);
});
