import { describe, expect, test } from "@jest/globals";
import { summaryCandidates } from "../../../../models/offline/summary-candidates.ts";

const MAX_TOKENS = 400;
const user = (content: string) => ({ role: "user" as const, content });
const assistant = (content: string) => ({ role: "assistant" as const, content });
const sentencesOf = (...input: Parameters<typeof summaryCandidates>) => summaryCandidates(...input).map(({ sentence }) => sentence);

describe("summaryCandidates", () => {
  test("are the lines of the earlier summary, then the sentences of the messages, with their speakers", () => {
    const candidates = summaryCandidates(
      "- User: I live in Oslo.\n- 助手：火车九点开。",
      [user("I like tea. I have a cat."), assistant("It costs 5.")],
      MAX_TOKENS,
    );
    expect(candidates.map(({ speaker, sentence, isOld }) => [speaker, sentence, isOld])).toEqual([
      ["user", "I live in Oslo.", true],
      ["assistant", "火车九点开。", true],
      ["user", "I like tea.", false],
      ["user", "I have a cat.", false],
      ["assistant", "It costs 5.", false],
    ]);
  });

  test("have no control characters, also when the earlier summary has some", () => {
    expect(sentencesOf("- User: I live\u0000in\tOslo.\r\nShe likes\u0007tea.", [user("I have\u0000a cat.")], MAX_TOKENS)).toEqual([
      "I live in Oslo.",
      "She likes tea.",
      "I have a cat.",
    ]);
  });

  test("are sentences of a free text too, without a speaker", () => {
    const candidates = summaryCandidates("The user lives in Oslo. She has two cats.\n\n* Likes tea", [], MAX_TOKENS);
    expect(candidates.map(({ speaker, sentence }) => [speaker, sentence])).toEqual([
      [null, "The user lives in Oslo."],
      [null, "She has two cats."],
      [null, "* Likes tea"],
    ]);
  });

  test("have each sentence once, where it was said last, and as the user's own when the assistant repeats it", () => {
    const messages = [
      user("I have a cat. I live in Oslo. The train leaves on Friday."),
      assistant("The train leaves on Friday."),
      user("I have a cat."),
    ];
    expect(summaryCandidates("- User: I live in Oslo.", messages, MAX_TOKENS).map(({ speaker, sentence }) => [speaker, sentence])).toEqual([
      ["user", "I live in Oslo."],
      ["user", "The train leaves on Friday."],
      ["user", "I have a cat."],
    ]);
  });

  test("shorten only a sentence that is longer than a quarter of the summary", () => {
    const long = `I live in ${"a very old and quiet ".repeat(30)}house.`;
    const [kept] = sentencesOf(null, [user(long)], MAX_TOKENS);
    expect(kept).toMatch(/^I live in a very old .*…$/);
    expect(sentencesOf(null, [user(long)], MAX_TOKENS * 4)).toEqual([long]);
  });

  test("value the last two questions of the user that have no answer behind them", () => {
    const worthOf = (question: string, messages: ReturnType<typeof user | typeof assistant>[], previous: string | null = null) =>
      summaryCandidates(previous, messages, MAX_TOKENS).find(({ sentence }) => sentence === question)?.worth ?? 0;
    const answered = worthOf("Where do whales sleep?", [user("Where do whales sleep?"), assistant("In the sea.")]);
    expect(worthOf("Where do whales sleep?", [user("Where do whales sleep?")])).toBeGreaterThan(5 * answered);
    expect(worthOf("Where do whales sleep?", [user("I wonder.")], "- User: Where do whales sleep?")).toBeGreaterThan(5 * answered);
    expect(worthOf("Where do whales sleep?", [assistant("In the sea.")], "- User: Where do whales sleep?")).toBe(answered);
    expect(worthOf("Where do whales sleep?", [user("Where do whales sleep? Why there? Which of them?")])).toBe(answered);
  });

  test("come from the beginning and the end of a message that is too long, without the sentences that were cut", () => {
    const middle = "Nothing much happened on that grey day in the middle of it all, however long we sat there and waited. ".repeat(2_000);
    const sentences = sentencesOf(null, [user(`I live in Oslo. ${middle}The code is TK-4471.`)], MAX_TOKENS);
    expect(sentences).toEqual(["I live in Oslo.", middle.slice(0, middle.indexOf(".") + 1), "The code is TK-4471."]);
  });

  test("are none when nothing is said or nothing is worth anything", () => {
    expect(summaryCandidates(null, [], MAX_TOKENS)).toEqual([]);
    expect(summaryCandidates("", [user("Thanks!"), assistant("You're welcome! Enjoy the day."), user("  \n ")], MAX_TOKENS)).toEqual([]);
  });
});
