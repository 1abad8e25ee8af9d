import { type Figure, figureOf } from "../figures.ts";
import type { Legs } from "./open-set.ts";

/** A text of a prompt: its units, and its length with date and speakers. */
export interface Quoted {
  units: readonly string[];
  characters: number;
}

export interface Answered {
  gold: readonly string[];
  /** The units of each exchange, the best first. */
  returned: readonly (readonly string[])[];
  /** What a prompt has of the best five: they first, then their neighbours. */
  prompt: readonly Quoted[];
  /** Among the best ten. */
  longPrompt: readonly Quoted[];
}

/** The most characters of the best five hits and their neighbours. */
const BUDGETS = [1_000, 2_000, 4_000] as const;
const within = (budget: number): string => `recall in ${budget.toLocaleString("en")} characters`;

const FIVE = within(4_000);
const TEN = "recall of ten in 8,000 characters";

const shareOf = (gold: readonly string[], units: ReadonlySet<string>): number =>
  gold.filter((unit) => units.has(unit)).length / gold.length;

function recallAt({ gold, returned }: Answered, count: number): number {
  return shareOf(gold, new Set(returned.slice(0, count).flat()));
}

function recallWithin(gold: readonly string[], prompt: readonly Quoted[], budget: number): number {
  const units = new Set<string>();
  let room = budget;
  for (const quoted of prompt) {
    if (quoted.characters > room) continue;
    room -= quoted.characters;
    for (const unit of quoted.units) units.add(unit);
  }
  return shareOf(gold, units);
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Each a share of the gold units, 0 to 1: the mean over the questions. */
export type RecallFigures = Record<string, number>;

export function recallFigures(answers: readonly Answered[]): RecallFigures {
  const meanOf = (recall: (answer: Answered) => number): number => mean(answers.map(recall));
  return {
    "recall@5": meanOf((answer) => recallAt(answer, 5)),
    "recall@10": meanOf((answer) => recallAt(answer, 10)),
    ...Object.fromEntries(BUDGETS.map((budget) => [within(budget), meanOf(({ gold, prompt }) => recallWithin(gold, prompt, budget))])),
    [TEN]: meanOf(({ gold, longPrompt }) => recallWithin(gold, longPrompt, 8_000)),
  };
}

/** Goals in per cent for the best five and ten with their neighbours, with the built-in embedder and multilingual-e5-small. */
const GOALS: Record<string, { builtIn?: [number, number]; e5: [number, number] } | undefined> = {
  LoCoMo: { builtIn: [72, 78], e5: [78, 84] },
  LongMemEval: { e5: [84, 93] },
  "MADial zh": { builtIn: [50, 63], e5: [62, 74] },
  MemDaily: { e5: [82, 93] },
};

export interface MeasuredSet {
  set: string;
  questions: number;
  byLegs: Partial<Record<Legs, RecallFigures>>;
  /** Asked three years later. */
  later: RecallFigures | null;
  /** One recall with both legs; it embeds the question unless BENCH_EMBEDDING_CACHE has it. */
  recallMs: readonly number[];
  /** The five that each question found, to compare places. */
  five: readonly string[];
  unrelated: { asked: number; answered: number } | null;
}

function goalsOf(set: string, embedder: string): Record<string, number | undefined> {
  const [five, ten] = GOALS[set]?.[embedder.startsWith("built-in") ? "builtIn" : "e5"] ?? [];
  return { [FIVE]: five, [TEN]: ten };
}

/** Figures of the sets on one place, and their means; a mean's spread is that of the means without one set. */
export function recallFiguresOf(embedder: string, place: string, sets: readonly MeasuredSet[]): Figure[] {
  const all = Object.keys(sets[0]?.byLegs ?? {}) as Legs[];
  const name = (what: string, legs: Legs, set: string): string =>
    [legs === "fused" ? what : `${what}, ${legs} alone`, set, embedder, place].join(", ");
  const questions = sets.reduce((sum, one) => sum + one.questions, 0);
  const ofSet = ({ set, byLegs, later, recallMs, unrelated, questions: asked }: MeasuredSet): Figure[] => [
    ...all.flatMap((legs) =>
      Object.entries(byLegs[legs] ?? {}).map(([what, share]): Figure => {
        const goal = legs === "fused" ? goalsOf(set, embedder)[what] : undefined;
        const figure = figureOf(name(what, legs, set), "%", [[100 * share]], goal === undefined ? {} : { goal: { atLeast: goal } });
        return { ...figure, samples: asked };
      }),
    ),
    ...["recall@5", "recall@10"].flatMap((what) =>
      later ? [figureOf(name(`${what}, asked three years later`, "fused", set), "%", [[100 * (later[what] ?? 0)]])] : [],
    ),
    figureOf(name("one recall", "fused", set), "ms", [recallMs]),
    ...(unrelated
      ? [figureOf(name("unrelated questions that got anything", "fused", set), "%", [[(100 * unrelated.answered) / unrelated.asked]])]
      : []),
  ];
  const ofAll = all.flatMap((legs) =>
    Object.keys(sets[0]?.byLegs[legs] ?? {}).map((what): Figure => {
      const shares = sets.map(({ byLegs }) => 100 * (byLegs[legs]?.[what] ?? 0));
      const leftOut = sets.length < 2 ? shares : shares.map((_, place) => mean(shares.filter((__, other) => other !== place)));
      const figure = figureOf(name(what, legs, `mean of ${sets.length} sets`), "%", [[mean(shares)]]);
      return { ...figure, spread: { lowest: Math.min(...leftOut), highest: Math.max(...leftOut) }, samples: questions };
    }),
  );
  return [...sets.flatMap(ofSet), ...ofAll];
}

/** Per cent of the questions with the same five at two places. */
export function sameFive(one: readonly MeasuredSet[], other: readonly MeasuredSet[], name: string): Figure {
  const pairs = other.flatMap(({ set, five }) => {
    const first = one.find((measured) => measured.set === set)?.five ?? [];
    return five.map((found, number) => found === first[number]);
  });
  const same = (100 * pairs.filter(Boolean).length) / pairs.length;
  return { ...figureOf(name, "%", [[same]], { goal: { atLeast: 95 } }), samples: pairs.length };
}
