import { figureOf, type Figure, type Goal } from "../figures.ts";
import type { Plot } from "../results.ts";

/** Milliseconds of every question that was counted, in the order in which they were asked. */
export interface RetrieveTimes {
  retrieveMs: number[];
  wordsMs: number[];
  vectorsMs: number[];
}

export interface MeasuredRetrieve extends RetrieveTimes {
  store: string;
  episodes: number;
  /** Of these, the measured user's. */
  own: number;
}

/** The questions are taken as so many runs, one behind the other. */
const RUNS = 4;
const PARTS = { retrieve: "retrieveMs", "keywords alone": "wordsMs", "vectors alone": "vectorsMs" } as const;
/** The size that has a goal in the embedded store, and the sizes that are compared. */
const [SMALLEST, MIDDLE, LARGEST] = [1_000, 10_000, 100_000];
const GOALS: Record<"embedded" | "growth", Goal> = { embedded: { atMost: 10 }, growth: { atMost: 2 } };

const runsOf = (values: readonly number[]): number[][] => {
  const size = Math.ceil(values.length / RUNS);
  return Array.from({ length: RUNS }, (_, run) => values.slice(run * size, (run + 1) * size)).filter((run) => run.length > 0);
};

/** Every part of a search by the size of the index, each beside the smallest; and how many times as long the largest takes. */
export function retrieveFigures(rows: readonly MeasuredRetrieve[]): Figure[] {
  const label = (part: string, { store, episodes, own }: MeasuredRetrieve): string =>
    `${part}, ${episodes.toLocaleString("en")} episodes, ${own.toLocaleString("en")} of them own, ${store}`;
  return [...new Set(rows.map(({ store }) => store))].flatMap((store) => {
    const own = rows.filter((row) => row.store === store);
    const [first] = own;
    if (!first) return [];
    const times = own.flatMap((row) =>
      Object.entries(PARTS).map(([part, field]) => {
        const hasGoal = part === "retrieve" && store === "PGlite" && row.episodes === MIDDLE && row.own === first.own;
        return figureOf(label(part, row), "ms", runsOf(row[field]), {
          ...(row === first ? {} : { reference: label(part, first) }),
          ...(hasGoal ? { goal: GOALS.embedded } : {}),
        });
      }),
    );
    const [small, large] = [SMALLEST, LARGEST].map((size) => own.find(({ episodes }) => episodes === size));
    if (!small || !large) return times;
    const medians = [small, large].map(({ retrieveMs }) => runsOf(retrieveMs).map((run) => figureOf("", "ms", [run]).p50));
    const ratios = (medians[1] ?? []).map((median, run) => [median / (medians[0]?.[run] ?? Number.NaN)]);
    return [...times, figureOf(`retrieve with the most episodes against the fewest, ${store}`, "times", ratios, { goal: GOALS.growth })];
  });
}

/** A user's own share is the same at every size. */
export function retrievePlot(rows: readonly MeasuredRetrieve[]): Plot {
  const [{ own } = { own: 0 }] = rows;
  const same = rows.filter((row) => row.own === own);
  const sizes = [...new Set(same.map(({ episodes }) => episodes))].sort((one, other) => one - other);
  return {
    title: `The retrieve node by the size of the index, p50, ${own} episodes of one's own`,
    x: { label: "episodes in the index", values: sizes },
    y: { label: "time", unit: "ms" },
    log: "x",
    series: [...new Set(same.map(({ store }) => store))].map((store) => ({
      name: store,
      values: sizes.map((size) => {
        const row = same.find((one) => one.store === store && one.episodes === size);
        return row ? figureOf("", "ms", [row.retrieveMs]).p50 : null;
      }),
    })),
  };
}
