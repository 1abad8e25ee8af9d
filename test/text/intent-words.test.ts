import { describe, expect, test } from "@jest/globals";
import { classifyExchange } from "../../memory/episodes/classify-exchange.ts";
import { completeQuestion } from "../../memory/recall/complete-question.ts";
import { hasIntent } from "../../text/read-intent.ts";
import { INTENT_WORDS } from "../../text/intent-words.ts";
import { REFERENCES, SAID } from "./intent-cases.ts";

const TALK = [
  { role: "user", content: "What can I watch tonight, and where can I sleep in Lisbon? 今晚看什么电影？" },
  {
    role: "assistant",
    content:
      "Watch the film Parasite. The director is Bong Joon-ho. Hotel Aurora is cheap. Casa Verde is quieter. 电影看《寄生虫》，导演是奉俊昊。酒店住安静的海景楼。",
  },
] as const;

describe("Words of intent", () => {
  test("have at least 120 cases", () =>
    expect([...Object.values(SAID), ...Object.values(REFERENCES)].flat().length).toBeGreaterThanOrEqual(120));

  for (const kind of ["preference", "decision", "outcome", "context"] as const)
    test.each(SAID[kind])(`%j is kept as ${kind}`, (message) => expect(classifyExchange(message, "OK.").episode_type).toBe(kind));

  test.each(SAID.remember)("%j is to be remembered", (message) => expect(hasIntent("remember", message)).toBe(true));

  test.each(REFERENCES.points)("%j points back", (question) => expect(completeQuestion(question, TALK)).not.toBe(question));

  test.each(REFERENCES.stands)("%j stands by itself", (question) => expect(completeQuestion(question, TALK)).toBe(question));

  test("repeat nothing without a bound, so that they are matched in linear time", () => {
    for (const { english, chinese } of Object.values(INTENT_WORDS))
      for (const phrase of [...english, ...chinese]) expect(phrase.replaceAll(/\\.|\[[^\]]*\]/g, "")).not.toMatch(/[*+]|,\}/);
  });
});
