import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { classifyExchange } from "../../../memory/episodes/classify-exchange.ts";
import { anyText } from "../../support/samples/any-text.ts";

/** Messages, " | " between two. */
const PREFERENCES = `I love hiking in the rain. | I don't eat meat. | My favourite colour is teal. | I prefer window seats.
  | We really enjoy board games on Sundays. | I can't stand cilantro. | I'm allergic to peanuts.
  | Please always answer in short sentences. | Call me Lena, not Helena. | I usually drink tea with oat milk | 我喜欢吃辣的 | 我对花生过敏
  | 我更愿意坐火车 | 我受不了吵闹的地方 | 我特别爱喝乌龙茶，推荐一家店吧 | 我一直用 Vim 写代码 | 我习惯早上跑步`;
const DECISIONS = `I've decided to move to Oslo. | Let's go with the blue one. | We booked a table for Friday. | I'm going to quit my job in June.
  | I'll take the second option. | We chose Postgres for the new project. | OK, it's settled: Lisbon in May.
  | I signed up for the pottery course. | We cancelled the trip. | I accepted the offer from Acme.
  | I like both, but I have chosen the red bike. | 我决定搬去杭州 | 那就选第二个方案 | 我打算明年考研 | 机票已经订好了 | 我们要结婚了，日子定在五月 | 旅行取消了`;
const OUTCOMES = `I passed the exam! | The interview went well. | My application was rejected. | The problem is gone, your tip helped.
  | I just submitted my thesis. | 考试通过了 | 我终于学会骑车了 | 论文写完了 | 比赛我们输了`;
const messages = (list: string): string[] => list.split("|").map((message) => message.trim());

describe("classifyExchange", () => {
  test("takes an answer to nothing for context, unless it is small talk, and a message without an answer as it is", () => {
    expect(classifyExchange("", "The zebra tour starts at nine.")).toEqual({ episode_type: "context", importance: 0.5 });
    expect(classifyExchange("", "You are welcome.").importance).toBeLessThan(0.3);
    expect(classifyExchange("I love hiking in the rain.", "")).toEqual({ episode_type: "preference", importance: 0.8 });
  });

  test.each(messages(PREFERENCES))("%j is a preference", (message) =>
    expect(classifyExchange(message, "OK.")).toEqual({ episode_type: "preference", importance: 0.8 }),
  );

  test.each(messages(DECISIONS))("%j is a decision", (message) =>
    expect(classifyExchange(message, "OK.")).toEqual({ episode_type: "decision", importance: 0.9 }),
  );

  test.each(messages(OUTCOMES))("%j is an outcome", (message) =>
    expect(classifyExchange(message, "OK.")).toEqual({ episode_type: "outcome", importance: 0.6 }),
  );

  test.each(["I live in Berlin with my two kids.", "What is the capital of Peru?", "我喜欢吃什么？"])("%j is context", (message) =>
    expect(classifyExchange(message, "OK.")).toEqual({ episode_type: "context", importance: 0.5 }),
  );

  test.each(["thanks", "ok great", "谢谢"])("%j is small talk", (message) =>
    expect(classifyExchange(message, "You are welcome! I love to help.")).toEqual({ episode_type: "context", importance: 0.1 }),
  );

  test.each([
    ["Remember that I like oat milk.", "preference", 0.95],
    ["Please remember: my locker is 42.", "context", 0.65],
    ["Don't forget, we decided on Thursday.", "decision", 1],
    ["记住，我不吃牛肉", "preference", 0.95],
    ["以后请用中文回答", "preference", 0.95],
    ["From now on I eat no sugar.", "context", 0.65],
    ["别忘了我们决定周四出发", "decision", 1],
  ])("%j is asked to be remembered and counts more", (message, episode_type, importance) =>
    expect(classifyExchange(message, "OK.")).toEqual({ episode_type, importance }),
  );

  test("is not asked to remember by a question about remembering", () => {
    for (const message of ["Do you remember my name?", "Do you still remember that trip?", "你还记得我的名字吗？"])
      expect(classifyExchange(message, "Yes.").importance).toBe(0.5);
  });

  test("sees what the assistant has done for the user, not its courtesies", () => {
    expect(classifyExchange("The table for two on Friday", "I've booked it for seven.").episode_type).toBe("decision");
    expect(classifyExchange("周五两位", "已经为您预订了七点的位子。").episode_type).toBe("decision");
    expect(classifyExchange("My sister is a nurse.", "I love that! I would be happy to help.").episode_type).toBe("context");
  });

  test("property: gives one of four kinds and an importance from 0 to 1 for any texts", () => {
    fc.assert(
      fc.property(anyText, anyText, (message, answer) => {
        const { episode_type, importance } = classifyExchange(message, answer);
        expect(["preference", "decision", "context", "outcome"]).toContain(episode_type);
        expect(importance > 0 && importance <= 1).toBe(true);
      }),
    );
  });
});
