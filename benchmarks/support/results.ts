import type { Figure } from "./figures.ts";

/** One line of a plot. Values stand for the x values in order; null where nothing was measured. */
export interface Series {
  name: string;
  values: readonly (number | null)[];
}

/** A picture of one measurement, drawn by the report. */
export interface Plot {
  title: string;
  /** What lies along the bottom: numbers in rising order ("messages", "streams", "seconds", …). */
  x: { label: string; values: readonly number[] };
  y: { label: string; unit: string };
  series: readonly Series[];
  /** Axes that are logarithmic; none unless told. Values on such an axis are above 0. */
  log?: "x" | "y" | "both";
}

/** The processor, its cores and the Node that a results file was measured with. */
export interface Machine {
  cpu: string | undefined;
  cores: number;
  node: string;
}

/** What a bench keeps, with any detail of its own beside. The report shows `figures`, `plots` and `notes` of every results file. */
export interface Measured {
  figures?: readonly Figure[];
  plots?: readonly Plot[];
  /** What a reader must know to trust the figures: a sentence each. */
  notes?: readonly string[];
}

/** A file of `results/`, as `writeResults` writes it. */
export interface Results extends Measured {
  /** ISO 8601. */
  date: string;
  machine: Machine;
  /** The commit that was measured, "+" behind it when files were changed since; none in a file from outside a repository. */
  commit?: string;
}
