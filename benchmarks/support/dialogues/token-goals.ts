import { figureOf, type Figure } from "../figures.ts";
import type { Plot } from "../results.ts";
import type { InCommon, Savings } from "./token-figures.ts";

/** Per cent that a prompt is to be smaller than the whole history, by finished turns. */
const SAVED: Record<number, number | undefined> = { 20: 60, 50: 91.5, 500: 98 };
/** Per cent of a prompt that is to be as in the turn before, between two versions of the summary. */
const IN_COMMON = 80;

/** What is saved at every point and of every set, and how much of a prompt a provider's cache can reuse. */
export function tokenFigures(savings: readonly Savings[], inCommon: readonly InCommon[]): Figure[] {
  const saved = savings.flatMap((row) => {
    const { finished, set, dialogues, overPeriod } = row;
    const atLeast = SAVED[finished];
    const goal = atLeast === undefined ? {} : { goal: { atLeast } };
    const at = `at ${finished} turns, ${set}`;
    const prompt = figureOf(`prompt ${at}`, "tokens", [[row.prompt]], { reference: `whole history ${at}` });
    const share = figureOf(`saved ${at}`, "%", [[100 * row.saved]], goal);
    return [
      figureOf(`whole history ${at}`, "tokens", [[row.wholeHistory]]),
      prompt,
      { ...share, spread: { lowest: 100 * overPeriod.worst, highest: 100 * overPeriod.best }, samples: dialogues },
    ];
  });
  const reused = inCommon.flatMap(({ set, betweenVersions, allTurns }) => [
    figureOf(`as in the turn before, between versions, ${set}`, "%", [[100 * betweenVersions]], { goal: { atLeast: IN_COMMON } }),
    figureOf(`as in the turn before, over all turns, ${set}`, "%", [[100 * allTurns]]),
  ]);
  return [...saved, ...reused];
}

/** Prompts against whole histories by the length of the conversation, over the sets together. */
export function tokenPlot(savings: readonly Savings[]): Plot {
  const rows = savings.filter(({ set }) => set === "all");
  return {
    title: "Tokens of a prompt by the length of its conversation",
    x: { label: "finished turns", values: rows.map(({ finished }) => finished) },
    y: { label: "tokens", unit: "tokens" },
    log: "both",
    series: [
      { name: "prompt", values: rows.map(({ prompt }) => prompt) },
      { name: "whole history", values: rows.map(({ wholeHistory }) => wholeHistory) },
    ],
  };
}
