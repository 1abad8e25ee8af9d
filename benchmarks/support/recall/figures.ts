import { type Figure, figureOf } from "../figures.ts";

export interface Answered {
  gold: readonly string[];
  returned: readonly { units: readonly string[]; characters: number }[];
}

/** Means over questions; shares are 0 to 1. */
export type RecallFigures = ReturnType<typeof recallFigures>;

const CHARACTERS = 4_000;

function figuresOfOne({ gold, returned }: Answered) {
  const recallOf = (items: Answered["returned"]): number => {
    const units = new Set(items.flatMap((item) => item.units));
    return gold.filter((unit) => units.has(unit)).length / gold.length;
  };
  const wanted = new Set(gold);
  const first = returned.findIndex(({ units }) => units.some((unit) => wanted.has(unit)));
  let characters = 0;
  const beyond = returned.findIndex((item) => (characters += item.characters) > CHARACTERS);
  const recallAt5 = recallOf(returned.slice(0, 5));
  return {
    /** Gold units among the first 5 and 10 returned exchanges, of all gold units. */
    recallAt5,
    recallAt10: recallOf(returned.slice(0, 10)),
    /** Whether any, and every, gold unit is among the first 5. */
    hitAt5: recallAt5 > 0 ? 1 : 0,
    allAt5: recallAt5 === 1 ? 1 : 0,
    mrr: first === -1 ? 0 : 1 / (first + 1),
    /** In the first exchanges that fit 4,000 characters. */
    recallIn4000: recallOf(beyond === -1 ? returned : returned.slice(0, beyond)),
  };
}

export function recallFigures(answers: readonly Answered[]) {
  const all = answers.map(figuresOfOne);
  const mean = (field: keyof (typeof all)[number]): number => all.reduce((sum, one) => sum + one[field], 0) / all.length;
  return {
    questions: all.length,
    recallAt5: mean("recallAt5"),
    recallAt10: mean("recallAt10"),
    hitAt5: mean("hitAt5"),
    allAt5: mean("allAt5"),
    mrr: mean("mrr"),
    recallIn4000: mean("recallIn4000"),
  };
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

interface RecalledSet {
  set: string;
  halves: readonly RecallFigures[];
  all: RecallFigures;
  recallMs: readonly number[];
  unrelated: { asked: number; answered: number };
}

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
