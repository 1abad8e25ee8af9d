import { expect, test, describe } from "@jest/globals";
import { storableJson } from "../../text/storable-text.ts";
import { isSmallTalk } from "../../text/small-talk.ts";
import { firstWords } from "../../text/first-words.ts";
import { parseArguments, shownArguments } from "../../text/tool-arguments.ts";
import { classifyExchange } from "../../memory/episodes/classify-exchange.ts";
import { completeQuestion } from "../../memory/recall/complete-question.ts";
import { hasIntent } from "../../text/read-intent.ts";
import { INTENT_WORDS } from "../../text/intent-words.ts";
import { REFERENCES, SAID } from "./intent-cases.ts";
import { hasWords, sameWords, sharesNothing } from "../../text/same-words.ts";
import { makeLoopDetector, repeatsItself } from "../../text/repeats-itself.ts";

test.each([
  ["keeps what can be stored", { a: ["\u{1F600}", 1, null, "\\ud800 \\u0000"] }, { a: ["\u{1F600}", 1, null, "\\ud800 \\u0000"] }],
  ["mends half a surrogate pair in a text", { a: ["x\ud800"] }, { a: ["x\ufffd"] }],
  ["mends half a surrogate pair in the name of a field, deep inside", [{ a: { "\udc00b": 1 } }], [{ a: { "\ufffdb": 1 } }]],
  ["drops NUL in a text and in the name of a field", { "a\0": "b\0" }, { a: "b" }],
  ["writes dates as JSON does", { at: new Date(0), "\0": undefined, b: "\0" }, { at: "1970-01-01T00:00:00.000Z", b: "" }],
])("JSON for the database %s", (_what, value, expected) => {
  expect(JSON.parse(storableJson(value))).toEqual(expected);
});

describe("isSmallTalk", () => {
  test.each([
    ...["thank you so much", "OK.", "Hello there!", "Haha, that's great!", "How are you today?", "👍", "Hmm…"],
    ...["好的", "谢谢你！", "哈哈哈哈", "太好了，谢谢", "不客气～", "ok，谢谢"],
  ])("is true for %j", (sentence) => expect(isSmallTalk(sentence)).toBe(true));

  test.each([
    ...["Thanks, Tiago!", "OK, Friday then.", "Hello, my dog died.", "See you at 7.", "I live in Oslo.", "I am off tomorrow."],
    ...["好的，周五见面", "谢谢小王", "我住在上海", "好，3点", "我太太是老师。"],
  ])("is false for %j", (sentence) => expect(isSmallTalk(sentence)).toBe(false));
});

describe("the first words", () => {
  test.each([
    ["What is the hotel limit in Lisbon?", "What is the hotel limit in Lisbon?"],
    ["  What\n\nis   it? ", "What is it?"],
    [
      "I would like to know whether the night train from Lisbon to Madrid runs again, and what it costs.",
      "I would like to know whether the night train from Lisbon to…",
    ],
    ["你之前提到的那个导演是谁？", "你之前提到的那个导演是谁？"],
    [
      "请帮我写一份关于里斯本夏天旅行的计划，包括酒店、火车和图书馆的开放时间，还有附近好吃的餐厅。",
      "请帮我写一份关于里斯本夏天旅行的计划，包括酒店、火车和图书…",
    ],
    ["a".repeat(100), `${"a".repeat(30)}…`],
    ["?!".repeat(100), `${"?!".repeat(15)}…`],
    [" \n ", ""],
  ])("of %j are %j", (text, words) => expect(firstWords(text)).toBe(words));
});

test.each<[what: string, text: string, value: unknown]>([
  ["an object", '{"a":[1,{"b":"c"}]}', { a: [1, { b: "c" }] }],
  ["nothing", " ", {}],
  ["a NUL in a value and in a name", '{"a\\u0000b":"c\\u0000d"}', { ab: "cd" }],
  ["half a surrogate pair in a name, deep inside", '{"a":[{"\\ud83dx":1}]}', { a: [{ "\uFFFDx": 1 }] }],
  ["a character beyond the first plane", '{"\\ud83d\\ude00":"😀"}', { "😀": "😀" }],
])("arguments that hold %s are read as what can be stored", (_what, text, value) => {
  expect(parseArguments(text)).toEqual(value);
  expect(shownArguments({ arguments: text })).toEqual(value);
});
test("arguments may have a name of the prototype as a name like others", () => {
  expect(JSON.stringify(parseArguments('{"__proto__":{"a":"\\u0000"}}'))).toBe('{"__proto__":{"a":""}}');
});
test.each(["[1]", "7", "null", '"text"', "{no json", '{"a":1', "not json"])("%s gives no arguments and is shown as is", (text) => {
  expect(parseArguments(text)).toBeNull();
  expect(shownArguments({ arguments: text })).toBe(text);
});
test("arguments are read to a depth of 100 levels and no deeper", () => {
  const nested = (levels: number): string => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  expect(parseArguments(nested(100))).not.toBeNull();
  for (const levels of [101, 3_000, 100_000]) expect(parseArguments(nested(levels))).toBeNull();
});

const TALK = [
  { role: "user", content: "What can I watch tonight, and where can I sleep in Lisbon? 今晚看什么电影？" },
  {
    role: "assistant",
    content:
      "Watch the film Parasite. The director is Bong Joon-ho. Hotel Aurora is cheap. Casa Verde is quieter. 电影看《寄生虫》，导演是奉俊昊。酒店住安静的海景楼。",
  },
] as const;
describe("the words of intent", () => {
  test("have at least 120 test cases", () =>
    expect([...Object.values(SAID), ...Object.values(REFERENCES)].flat().length).toBeGreaterThanOrEqual(120));

  for (const kind of ["preference", "decision", "outcome", "context"] as const)
    test.each(SAID[kind])(`keep %j as ${kind}`, (message) => expect(classifyExchange(message, "OK.").episode_type).toBe(kind));

  test.each(SAID.remember)("find that %j is to be remembered", (message) => expect(hasIntent("remember", message)).toBe(true));

  test.each(REFERENCES.points)("find that %j points back", (question) => expect(completeQuestion(question, TALK)).not.toBe(question));

  test.each(REFERENCES.stands)("find that %j stands by itself", (question) => expect(completeQuestion(question, TALK)).toBe(question));

  test("repeat nothing without a bound, so that they are matched in linear time", () => {
    for (const { english, chinese } of Object.values(INTENT_WORDS))
      for (const phrase of [...english, ...chinese]) expect(phrase.replaceAll(/\\.|\[[^\]]*\]/g, "")).not.toMatch(/[*+]|,\}/);
  });
});

const REX = "The capital of Lisbon is Rex.";
describe("an answer", () => {
  test.each([
    ["Where do I live?", REX],
    ["What is my dog called?", REX],
    ["My name is Ada.", "I am a helpful assistant."],
    ["Remind me to buy a ticket at 9:40.", "The weather is nice in spring."],
    ["我住在哪里？", "天气很好，去公园吧。"],
    ["我叫什么名字？", "我是一个乐于助人的助手。"],
  ])("to %j has nothing of its question: %j", (asked, answer) => expect(sharesNothing(asked, answer) && hasWords(answer)).toBe(true));

  test.each([
    ["Where do I live?", "You live in Lisbon."],
    ["What is my dog called?", "Your dog is called Rex."],
    ["Which films of Varda have I seen?", "You saw one film, Cléo from 5 to 7."],
    ["What is the capital of Portugal?", "Lisbon."],
    ["Do I like tea?", "Yes, you do."],
    ["Who am I?", "You are Ada from Lisbon."],
    ["我住在哪里？", "你住在里斯本。"],
    ["我的狗叫什么？", "你的狗叫小白。"],
    ["我对什么过敏？", "花生。"],
    ["帮我查一下明天的火车", "The first train leaves at 9:40."],
  ])("to %j has something of its question: %j", (asked, answer) => expect(sharesNothing(asked, answer) && hasWords(answer)).toBe(false));
});
test.each([
  ["You live in Lisbon.", "you live in lisbon", true],
  ["你住在里斯本。", "你住在里斯本！", true],
  ["You live in Lisbon.", "You live in Lisbon now.", false],
])("%j and %j have the same words: %s", (one, other, same) => expect(sameWords(one) === sameWords(other)).toBe(same));

const numbers = (count: number): string => Array.from({ length: count }, (_, number) => `word${number} `).join("");
describe("a text that repeats itself", () => {
  test.each([
    ["one sentence over and over", "I am sorry to hear that. ".repeat(30)],
    ["a long answer that loops at its end", numbers(1_000) + "and then we go on and on ".repeat(40)],
    ["Chinese", "我不知道你在说什么。".repeat(20)],
    ["a short sentence four times", "I am a helpful assistant. ".repeat(4)],
    ["a sentence three times, with other marks", "The weather is nice. The weather is nice! The weather is nice"],
    ["seventeen rows of four words without a full stop", "the user lives in ".repeat(5)],
    ["a short Chinese sentence three times", "我是一个助手。".repeat(3)],
  ])("is found when it is %s", (_what, text) => expect(repeatsItself(text)).toBe(true));

  test.each([
    ["a long text", numbers(2_000)],
    ["a text of few words", "no, no, no, no, no!"],
    ["short lines that come again", "Anna: yes\nBen: no\nCarla: yes\nDora: yes, but only on Friday"],
    ["a refrain in Chinese", "好的，好的。明天早上九点在火车站见。好的。"],
    ["sentences that begin alike", "You like tea. You like coffee. You like milk. You like water."],
    ["a refrain", `${numbers(60)} ${"Row, row, row your boat. ".repeat(3)} ${numbers(60)}`],
    ["nothing", ""],
  ])("is not seen in %s", (_what, text) => expect(repeatsItself(text)).toBe(false));
});
test.each<[string, string, boolean]>([
  ["blanks behind the beginning of JSON", `{"choice":${"\n ".repeat(2_000)}`, true],
  ["the same words", "amigos de nós ".repeat(300), true],
  ["a short text", "🎌".repeat(100), false],
  ["prose", Array.from({ length: 500 }, (_, n) => `sentence ${n} tells of town ${n * 7}`).join(". "), false],
  ["a table", Array.from({ length: 300 }, (_, n) => `| ${n} | ${n * 3} | wombat ${n} |`).join("\n"), false],
])("a loop detector judges %s rightly while it grows", (_what, text, says) => {
  const loops = makeLoopDetector();
  const told: boolean[] = [];
  for (let length = 10; length <= text.length; length += 10) told.push(loops(text.slice(0, length)));
  expect(told.includes(true)).toBe(says);
});
