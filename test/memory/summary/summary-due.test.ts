import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  DEFAULT_SUMMARY,
  isSummaryDue,
  type SummarySettings,
  uncoveredCountLimit,
} from "../../../memory/summary/summarise-conversation.ts";

const anySettings: fc.Arbitrary<SummarySettings> = fc.record({
  minMessages: fc.integer({ min: 1, max: 50 }),
  updateDelta: fc.integer({ min: 1, max: 50 }),
  historyWindow: fc.integer({ min: 0, max: 50 }),
});

/** The least number of uncovered messages at which a summary is due. */
function leastDue(settings: SummarySettings, hasSummary: boolean): number {
  for (let uncovered = 0; uncovered < 1_000; uncovered++) if (isSummaryDue(settings, { hasSummary, uncovered })) return uncovered;
  throw new Error("it is never due");
}

describe("isSummaryDue", () => {
  test.each([
    ["the first from minMessages on", {}, false, 10],
    ["the first from another minMessages on", { minMessages: 20 }, false, 20],
    ["the first only with a message before the window", { minMessages: 6 }, false, 7],
    ["the first without a window", { minMessages: 1, historyWindow: 0 }, false, 1],
    ["a later one when updateDelta messages lie before the window", {}, true, 11],
    ["a later one with another updateDelta", { updateDelta: 1 }, true, 7],
    ["a later one without a window", { updateDelta: 1, historyWindow: 0 }, true, 1],
  ])("is so for %s", (_what, settings, hasSummary, least) => expect(leastDue({ ...DEFAULT_SUMMARY, ...settings }, hasSummary)).toBe(least));

  test("property: when due, a message lies outside the window, and it stays due with every further message", () => {
    fc.assert(
      fc.property(anySettings, fc.boolean(), fc.nat(200), (settings, hasSummary, further) => {
        const least = leastDue(settings, hasSummary);
        expect(least).toBeGreaterThan(settings.historyWindow);
        expect(isSummaryDue(settings, { hasSummary, uncovered: least + further })).toBe(true);
      }),
    );
  });

  test("property: counting beyond uncoveredCountLimit never changes it", () => {
    fc.assert(
      fc.property(anySettings, fc.boolean(), fc.nat(300), (settings, hasSummary, uncovered) => {
        const counted = Math.min(uncovered, uncoveredCountLimit(settings));
        expect(isSummaryDue(settings, { hasSummary, uncovered: counted })).toBe(isSummaryDue(settings, { hasSummary, uncovered }));
      }),
    );
    expect(uncoveredCountLimit(DEFAULT_SUMMARY)).toBe(11);
    expect(uncoveredCountLimit({ minMessages: 1, updateDelta: 1, historyWindow: 0 })).toBe(1);
  });
});
