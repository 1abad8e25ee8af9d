import { describe, expect, test } from "@jest/globals";
import { classifyExchange } from "../../memory/episodes/classify-exchange.ts";
import { hasIntent } from "../../text/has-intent.ts";
import { INTENT_WORDS } from "../../text/intent-words.ts";
import { SAID } from "./intent-cases.ts";

describe("Words of intent", () => {
  test("have at least 120 cases", () => expect(Object.values(SAID).flat().length).toBeGreaterThanOrEqual(120));

  for (const kind of ["preference", "decision", "outcome", "context"] as const)
    test.each(SAID[kind])(`%j is kept as ${kind}`, (message) => expect(classifyExchange(message, "OK.").episode_type).toBe(kind));

  test.each(SAID.remember)("%j is to be remembered", (message) => expect(hasIntent("remember", message)).toBe(true));

  test("repeat nothing without a bound, so that they are matched in linear time", () => {
    for (const { english, chinese } of Object.values(INTENT_WORDS))
      for (const phrase of [...english, ...chinese]) expect(phrase.replaceAll(/\\.|\[[^\]]*\]/g, "")).not.toMatch(/[*+]|,\}/);
  });
});
