import type { RecallFigures } from "./recall-figures.ts";
import { figureOf, type Figure } from "../figures.ts";

/** recall@5 and recall@10 in per cent that each set is to reach, with the built-in embedder (which some have no goal for) and with multilingual-e5-small. */
const GOALS: Record<string, { builtIn?: [number, number]; e5: [number, number] } | undefined> = {
  LoCoMo: { builtIn: [70, 77], e5: [73, 81] },
  LongMemEval: { builtIn: [76, 88], e5: [85, 93] },
  "MemoryBank zh": { builtIn: [95, 97], e5: [97, 98] },
  "MemoryBank en": { builtIn: [95, 97], e5: [97, 98] },
  "MADial zh": { builtIn: [57, 69], e5: [64, 75] },
  "MADial en": { e5: [67, 78] },
  MemDaily: { builtIn: [73, 85], e5: [78, 88] },
};

export interface RecalledSet {
  set: string;
  /** Over the questions at even places, on which weights were chosen, and at the others. */
  halves: readonly RecallFigures[];
  all: RecallFigures;
  recallMs: readonly number[];
  unrelated: { asked: number; answered: number };
}

/** Recall over all questions of each set, with its two halves as the spread; times beside those of the first set. */
export function recallFiguresOf(embedder: string, sets: readonly RecalledSet[]): Figure[] {
  const label = (what: string, set: string): string => `${what}, ${set}, ${embedder}`;
  return sets.flatMap(({ set, halves, all, recallMs, unrelated }) => {
    const goals = GOALS[set]?.[embedder.startsWith("built-in") ? "builtIn" : "e5"];
    const share = (what: string, field: "recallAt5" | "recallAt10", atLeast: number | undefined): Figure => {
      const goal = atLeast === undefined ? {} : { goal: { atLeast } };
      const whole = figureOf(label(what, set), "%", [[100 * all[field]]], goal);
      const parts = halves.map((half) => 100 * half[field]);
      return { ...whole, spread: { lowest: Math.min(...parts), highest: Math.max(...parts) }, samples: all.questions };
    };
    const first = sets[0]?.set ?? set;
    return [
      share("recall@5", "recallAt5", goals?.[0]),
      share("recall@10", "recallAt10", goals?.[1]),
      figureOf(label("one recall", set), "ms", [recallMs], set === first ? {} : { reference: label("one recall", first) }),
      figureOf(label("unrelated questions that got anything", set), "%", [[(100 * unrelated.answered) / unrelated.asked]]),
    ];
  });
}
