import { describe, expect, test } from "@jest/globals";
import { isSmallTalk } from "../../text/small-talk.ts";

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
