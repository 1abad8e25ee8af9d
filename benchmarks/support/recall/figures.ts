import { type Figure, figureOf } from "../figures.ts";
import type { Legs } from "./open-set.ts";

export interface Answered {
  gold: readonly string[];
  /** The units of each exchange, the best first. */
  returned: readonly (readonly string[])[];
  /** What a default turn shows: hits and what stands beside them. */
  shown: readonly string[];
}

const IN_ROOM = "recall in the room of a turn";

const shareOf = (gold: readonly string[], units: readonly string[]): number =>
  gold.filter((unit) => units.includes(unit)).length / gold.length;

function recallAt({ gold, returned }: Answered, count: number): number {
  return shareOf(gold, returned.slice(0, count).flat());
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Each a share of the gold units, 0 to 1: the mean over the questions. */
export type RecallFigures = Record<string, number>;

export function recallFigures(answers: readonly Answered[]): RecallFigures {
  const meanOf = (recall: (answer: Answered) => number): number => mean(answers.map(recall));
  return {
    "recall@5": meanOf((answer) => recallAt(answer, 5)),
    "recall@10": meanOf((answer) => recallAt(answer, 10)),
    [IN_ROOM]: meanOf(({ gold, shown }) => shareOf(gold, shown)),
  };
}

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

/** A turn shows no less than plain BM25 finds for the same room. */
function goalOf(what: string, { BM25: plain }: MeasuredSet["byLegs"]): { goal?: { atLeast: number } } {
  return what === IN_ROOM && plain ? { goal: { atLeast: 100 * (plain[what] ?? 0) } } : {};
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
        const figure = figureOf(name(what, legs, set), "%", [[100 * share]], legs === "fused" ? goalOf(what, byLegs) : {});
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
