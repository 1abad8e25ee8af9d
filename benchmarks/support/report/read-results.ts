import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

const Goal = z.object({
  atMost: z.number().optional(),
  atLeast: z.number().optional(),
  of: z.enum(["p50", "p95", "p99"]).optional(),
  met: z.boolean(),
});

/** A value that could not be had is null in JSON. */
const value = z.number().nullable();

const ShownFigure = z.object({
  name: z.string(),
  unit: z.string(),
  p50: value,
  p95: value,
  p99: value,
  spread: z.object({ lowest: value, highest: value }),
  samples: z.number(),
  reference: z.string().optional(),
  goal: Goal.optional(),
});

const ShownPlot = z.object({
  title: z.string(),
  x: z.object({ label: z.string(), values: z.array(z.number()) }),
  y: z.object({ label: z.string(), unit: z.string() }),
  series: z.array(z.object({ name: z.string(), values: z.array(value) })),
  log: z.enum(["x", "y", "both"]).optional(),
});

const ShownTree = z.array(z.object({ depth: z.number(), name: z.string(), package: z.string(), selfMs: z.number(), totalMs: z.number() }));

const ResultsFile = z.looseObject({
  date: z.string(),
  machine: z.object({ cpu: z.string().optional(), cores: z.number(), node: z.string() }),
  commit: z.string().optional(),
  figures: z.array(ShownFigure).default([]),
  plots: z.array(ShownPlot).default([]),
  notes: z.array(z.string()).default([]),
  tree: ShownTree.optional(),
});

const FailureFile = z.object({ date: z.string(), error: z.string() });

export type ShownFigure = z.infer<typeof ShownFigure>;
export type ShownPlot = z.infer<typeof ShownPlot>;
export type ShownTree = z.infer<typeof ShownTree>;
export type ShownResults = z.infer<typeof ResultsFile>;

/** One bench as the report shows it: its results, why they cannot be read, how its last run failed, or several of these. */
export interface ReportedBench {
  name: string;
  results?: ShownResults;
  /** What is wrong with its results file, in words. */
  problem?: string;
  failure?: z.infer<typeof FailureFile>;
}

const FAILURE = ".failure.json";

type Read<Content> = { content: Content } | { problem: string };

async function readAs<Content>(schema: z.ZodType<Content>, file: string): Promise<Read<Content>> {
  const text = await readFile(file, "utf8");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { problem: `${path.basename(file)} is no JSON: ${(error as Error).message}` };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { content: parsed.data };
  return { problem: `${path.basename(file)} is not as results are written:\n${z.prettifyError(parsed.error)}` };
}

/** Everything in a folder of results, by the names of the benches. A file that cannot be used is told of, not left out. */
export async function readResults(folder: string): Promise<ReportedBench[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".json")).sort();
  const benches = new Map<string, ReportedBench>();
  for (const file of files) {
    const isFailure = file.endsWith(FAILURE);
    const name = file.slice(0, -(isFailure ? FAILURE : ".json").length);
    const bench = benches.get(name) ?? { name };
    benches.set(name, bench);
    if (isFailure) {
      const read = await readAs(FailureFile, path.join(folder, file));
      bench.failure = "content" in read ? read.content : { date: "", error: read.problem };
    } else {
      const read = await readAs(ResultsFile, path.join(folder, file));
      if ("content" in read) bench.results = read.content;
      else bench.problem = read.problem;
    }
  }
  return [...benches.values()].sort((one, other) => one.name.localeCompare(other.name, "en"));
}
