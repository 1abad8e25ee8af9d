import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { uncoveredCountLimit, isSummaryDue, type SummarySettings } from "../../../memory/summary/summary-due.ts";

const DEFAULTS: SummarySettings = { minMessages: 10, updateDelta: 5, historyWindow: 6 };

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
  test("for the first is so from minMessages on", () => {
    expect(leastDue(DEFAULTS, false)).toBe(10);
    expect(leastDue({ ...DEFAULTS, minMessages: 20 }, false)).toBe(20);
  });

  test("for the first waits for one message before the window, which no summary covers", () => {
    expect(leastDue({ ...DEFAULTS, minMessages: 6 }, false)).toBe(7);
    expect(leastDue({ ...DEFAULTS, minMessages: 1, historyWindow: 0 }, false)).toBe(1);
  });

  test("for a later one is so when updateDelta messages lie between the cover point and the window", () => {
    expect(leastDue(DEFAULTS, true)).toBe(11);
    expect(leastDue({ ...DEFAULTS, updateDelta: 1 }, true)).toBe(7);
    expect(leastDue({ ...DEFAULTS, updateDelta: 1, historyWindow: 0 }, true)).toBe(1);
  });

  test("property: once due it stays due with every further message", () => {
    fc.assert(
      fc.property(anySettings, fc.boolean(), fc.nat(200), (settings, hasSummary, further) => {
        const uncovered = leastDue(settings, hasSummary) + further;
        expect(isSummaryDue(settings, { hasSummary, uncovered })).toBe(true);
      }),
    );
  });

  test("property: when due, there is a message that may be covered, outside the window", () => {
    fc.assert(
      fc.property(anySettings, fc.boolean(), (settings, hasSummary) =>
        expect(leastDue(settings, hasSummary)).toBeGreaterThan(settings.historyWindow),
      ),
    );
  });
});

describe("enoughUncovered", () => {
  test("property: counting further never changes whether a summary is due", () => {
    fc.assert(
      fc.property(anySettings, fc.boolean(), fc.nat(300), (settings, hasSummary, uncovered) => {
        const counted = Math.min(uncovered, uncoveredCountLimit(settings));
        expect(isSummaryDue(settings, { hasSummary, uncovered: counted })).toBe(isSummaryDue(settings, { hasSummary, uncovered }));
      }),
    );
  });

  test("is no more than the settings ask for", () => {
    expect(uncoveredCountLimit(DEFAULTS)).toBe(11);
    expect(uncoveredCountLimit({ minMessages: 1, updateDelta: 1, historyWindow: 0 })).toBe(1);
  });
});
