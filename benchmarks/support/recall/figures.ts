import { type Figure, figureOf } from "../figures.ts";
import type { Legs } from "./open-set.ts";

export interface Answered {
  gold: readonly string[];
  /** The units of each exchange, the best first. */
  returned: readonly (readonly string[])[];
}

/** Shares are 0 to 1. */
export type RecallFigures = ReturnType<typeof recallFigures>;

function recallOf({ gold, returned }: Answered, count: number): number {
  const units = new Set(returned.slice(0, count).flat());
  return gold.filter((unit) => units.has(unit)).length / gold.length;
}

/** Gold units among the first 5 and 10 returned exchanges, of all gold units: means over the questions. */
export function recallFigures(answers: readonly Answered[]) {
  const mean = (count: number): number => answers.reduce((sum, answer) => sum + recallOf(answer, count), 0) / answers.length;
  return { questions: answers.length, recallAt5: mean(5), recallAt10: mean(10) };
}

/** Goals in per cent, recall@5 and recall@10, with the built-in embedder and with multilingual-e5-small. */
const GOALS: Record<string, { builtIn?: [number, number]; e5: [number, number] } | undefined> = {
  LoCoMo: { builtIn: [70, 77], e5: [73, 81] },
  LongMemEval: { builtIn: [76, 88], e5: [85, 93] },
  "MemoryBank zh": { builtIn: [95, 97], e5: [97, 98] },
  "MemoryBank en": { builtIn: [95, 97], e5: [97, 98] },
  "MADial zh": { builtIn: [57, 69], e5: [64, 75] },
  "MADial en": { e5: [67, 78] },
  MemDaily: { builtIn: [73, 85], e5: [78, 88] },
};

export interface MeasuredSet {
  set: string;
  byLegs: Record<Legs, { all: RecallFigures; halves: readonly RecallFigures[] }>;
  /** Of one recall with both legs; it embeds the question unless BENCH_EMBEDDING_CACHE has it. */
  recallMs: readonly number[];
  unrelated: { asked: number; answered: number };
}

export function recallFiguresOf(embedder: string, sets: readonly MeasuredSet[]): Figure[] {
  const label = (what: string, set: string): string => `${what}, ${set}, ${embedder}`;
  return sets.flatMap(({ set, byLegs, recallMs, unrelated }) => {
    const goals = GOALS[set]?.[embedder.startsWith("built-in") ? "builtIn" : "e5"];
    const share = (legs: Legs, what: string, field: "recallAt5" | "recallAt10", atLeast?: number): Figure => {
      const { all, halves } = byLegs[legs];
      const name = legs === "fused" ? what : `${what}, ${legs} alone`;
      const whole = figureOf(label(name, set), "%", [[100 * all[field]]], atLeast === undefined ? {} : { goal: { atLeast } });
      const parts = halves.map((half) => 100 * half[field]);
      return { ...whole, spread: { lowest: Math.min(...parts), highest: Math.max(...parts) }, samples: all.questions };
    };
    const first = sets[0]?.set ?? set;
    return [
      share("fused", "recall@5", "recallAt5", goals?.[0]),
      share("fused", "recall@10", "recallAt10", goals?.[1]),
      ...(["keywords", "vectors"] as const).flatMap((legs) => [
        share(legs, "recall@5", "recallAt5"),
        share(legs, "recall@10", "recallAt10"),
      ]),
      figureOf(label("one recall", set), "ms", [recallMs], set === first ? {} : { reference: label("one recall", first) }),
      figureOf(label("unrelated questions that got anything", set), "%", [[(100 * unrelated.answered) / unrelated.asked]]),
    ];
  });
}
