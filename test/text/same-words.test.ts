import { describe, expect, test } from "@jest/globals";
import { hasWords, sameWords, sharesNothing } from "../../text/same-words.ts";

const REX = "The capital of Lisbon is Rex.";

describe("an answer has nothing of its question", () => {
  test.each([
    ["Where do I live?", REX],
    ["What is my dog called?", REX],
    ["My name is Ada.", "I am a helpful assistant."],
    ["Remind me to buy a ticket at 9:40.", "The weather is nice in spring."],
    ["我住在哪里？", "天气很好，去公园吧。"],
    ["我叫什么名字？", "我是一个乐于助人的助手。"],
  ])("in %j: %j", (asked, answer) => expect(sharesNothing(asked, answer) && hasWords(answer)).toBe(true));

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
  ])("not in %j: %j", (asked, answer) => expect(sharesNothing(asked, answer) && hasWords(answer)).toBe(false));
});

test.each([
  ["You live in Lisbon.", "you live in lisbon", true],
  ["你住在里斯本。", "你住在里斯本！", true],
  ["You live in Lisbon.", "You live in Lisbon now.", false],
])("%j and %j have the same words: %s", (one, other, same) => expect(sameWords(one) === sameWords(other)).toBe(same));
