import { describe, expect, test } from "@jest/globals";
import { generateDialogues } from "../../../benchmarks/support/dialogues/generate-dialogues.ts";
import { DEFAULT_SUMMARY, isSummaryDue, type SummaryInput } from "../../../memory/summary/summarise-conversation.ts";
import { summariseOffline } from "../../../models/offline/offline-summary.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { PLANTED_FACTS } from "./planted-facts.ts";

/** The built-in summary after a talk, made in the steps of the job. */
async function summaryOf(messages: SummaryInput["messages"]): Promise<string> {
  let previous: string | null = null;
  let covered = 0;
  for (let end = 2; end <= messages.length; end += 2) {
    if (!isSummaryDue(DEFAULT_SUMMARY, { hasSummary: previous !== null, uncovered: end - covered })) continue;
    const step = messages.slice(covered, end - DEFAULT_SUMMARY.historyWindow);
    covered += step.length;
    previous = await summariseOffline({ previous, messages: step, coveredMessageCount: covered });
  }
  return previous ?? "";
}

const TURNS = 100;
const TALKS = generateDialogues({ count: 2, turns: TURNS });

describe.each(Object.entries(PLANTED_FACTS))("of twenty facts told in a hundred turns of %s", (set, lists) => {
  test.each(Object.entries(lists))("the summary alone keeps two fifths: %s", async (_list, marked) => {
    const facts = marked.trim().split("\n");
    const shares = TALKS.filter((talk) => talk.set === set).map(async ({ exchanges }) => {
      const told = new Map(facts.map((fact, place) => [Math.floor(((place + 0.5) * 0.9 * TURNS) / facts.length), fact]));
      const messages = exchanges.flatMap(({ user, assistant }, turn): SummaryInput["messages"] => [
        { role: "user", content: `${told.get(turn)?.replace(/[[\]]/g, "") ?? ""} ${user}` },
        { role: "assistant", content: assistant },
      ]);
      const summary = await summaryOf(messages);
      expect(estimateTokens(summary)).toBeLessThanOrEqual(1.6 * messages.length);
      return facts.filter((fact) => summary.includes(/\[(.+)\]/.exec(fact)?.[1] ?? "")).length / facts.length;
    });
    for (const share of await Promise.all(shares)) expect(share).toBeGreaterThanOrEqual(0.4);
  });
});
