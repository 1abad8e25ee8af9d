export interface Goal {
  /** Inclusive, in the figure's unit. */
  atMost?: number;
  /** Inclusive. */
  atLeast?: number;
  /** The compared value; default p50. */
  of?: keyof Distribution;
}

/** A figure that is counted or read once has the same value in p50, p95 and p99. */
export interface Figure extends Distribution {
  name: string;
  unit: string;
  /** Lowest and highest p50 of the rounds: how far the figure can be trusted. */
  spread: { lowest: number; highest: number };
  samples: number;
  /** The figure measured beside it, round by round. */
  reference?: string;
  goal?: Goal & { met: boolean };
}

function against(values: Distribution, { atMost, atLeast, of = "p50" }: Goal): Goal & { met: boolean } {
  const value = values[of];
  return {
    ...(atMost === undefined ? {} : { atMost }),
    ...(atLeast === undefined ? {} : { atLeast }),
    of,
    met: (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast),
  };
}

/** Makes a figure of several rounds: percentiles over all values, spread over the medians of the rounds. */
export function figureOf(
  name: string,
  unit: string,
  runs: readonly (readonly number[])[],
  { reference, goal }: { reference?: string; goal?: Goal } = {},
): Figure {
  const all = runs.flat();
  const medians = runs.filter((run) => run.length > 0).map((run) => percentile(run, 0.5));
  const values = distribution(all);
  return {
    name,
    unit,
    ...values,
    spread: { lowest: Math.min(...medians), highest: Math.max(...medians) },
    samples: all.length,
    ...(reference === undefined ? {} : { reference }),
    ...(goal === undefined ? {} : { goal: against(values, goal) }),
  };
}

export interface Distribution {
  p50: number;
  p95: number;
  p99: number;
}

/** The value at a share of the sorted values, by the nearest-rank method. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function distribution(values: readonly number[]): Distribution {
  return { p50: percentile(values, 0.5), p95: percentile(values, 0.95), p99: percentile(values, 0.99) };
}

/** The median of each round over that of the same round of `others`. */
export function ratiosByRound(rounds: readonly (readonly number[])[], others: readonly (readonly number[])[]): number[][] {
  return rounds.map((round, place) => [percentile(round, 0.5) / percentile(others[place] ?? [], 0.5)]);
}

export type Samples = ReturnType<typeof makeSamples>;

export function makeSamples() {
  const byName = new Map<string, number[][]>();
  const runs = (name: string): number[][] => byName.get(name)?.filter((values) => values.length > 0) ?? [];
  return {
    add(name: string, round: number, ...values: number[]): void {
      const rounds = byName.get(name) ?? [];
      byName.set(name, rounds);
      for (let missing = rounds.length; missing <= round; missing++) rounds.push([]);
      rounds[round]?.push(...values);
    },
    runs,
    figure(name: string, unit: string, more?: { reference?: string; goal?: Goal }): Figure {
      if (runs(name).length === 0) throw new Error(`nothing was measured for "${name}"`);
      return figureOf(name, unit, runs(name), more);
    },
    names: (): string[] => [...byName.keys()],
  };
}
