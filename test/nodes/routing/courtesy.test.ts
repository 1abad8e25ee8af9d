import { expect, test } from "@jest/globals";
import { isCourtesy } from "../../../nodes/routing/route-by-words.ts";
import { readRoutingTable } from "./routing-table.ts";

/** Messages, " | " between two. */
const COURTESIES = `Good morning to you! | Hi there | hello, how are you? | How are you doing? | How is it going? | Nice to meet you | never mind
  | Thanks a lot | thank you so much!!! | ok | Sure, great, thanks | 👍 | See you tomorrow! | 谢谢 | 谢谢你的帮忙！ | 早上好 | 最近怎么样 | 明天见
  | 大家晚上好！ | 好的，谢谢老师 | 哈哈哈 | 嗯嗯 | 在吗？ | 明白了 thanks`;
const OTHERS = `Good morning, what is the hotel limit? | hi, the printer is broken | Thanks, and the second one? | yes, the first | 好吃吗
  | 你好，发票丢了怎么办 | 行李超重怎么办 | 早饭可以报销吗 | 谢谢，那酒店呢 | 12 | What may I spend? | What is the problem? | How do I take it?
  | What is it? | 我是老师 | 不可以带宠物 | ${"hello ".repeat(20)}`;
const messages = (list: string): string[] => list.split("|").map((message) => message.trim());

test.each(messages(COURTESIES))("a courtesy is recognised: %p", (message) => {
  expect(isCourtesy(message)).toBe(true);
});

test.each(messages(OTHERS))("what says more is no courtesy: %p", (message) => {
  expect(isCourtesy(message)).toBe(false);
});

test("no question for a base is taken for a courtesy", async () => {
  const { questions } = await readRoutingTable();
  expect(questions.filter(({ text, gold }) => gold !== "general" && isCourtesy(text))).toEqual([]);
});
