import type { Goal, Figure } from "./figures.ts";
import { figureOf } from "./figures.ts";

/** Values by the name of their figure and the round they were measured in. */
export interface Samples {
  add(name: string, round: number, ...values: number[]): void;
  /** The values of a figure, round by round; empty when there are none. */
  runs(name: string): number[][];
  /** The figure of a name. Throws when nothing was measured. */
  figure(name: string, unit: string, more?: { reference?: string; goal?: Goal }): Figure;
  names(): string[];
}

export function makeSamples(): Samples {
  const byName = new Map<string, number[][]>();
  const runs = (name: string): number[][] => byName.get(name)?.filter((values) => values.length > 0) ?? [];
  return {
    add(name, round, ...values) {
      const rounds = byName.get(name) ?? [];
      byName.set(name, rounds);
      for (let missing = rounds.length; missing <= round; missing++) rounds.push([]);
      rounds[round]?.push(...values);
    },
    runs,
    figure(name, unit, more) {
      if (runs(name).length === 0) throw new Error(`nothing was measured for "${name}"`);
      return figureOf(name, unit, runs(name), more);
    },
    names: () => [...byName.keys()],
  };
}
