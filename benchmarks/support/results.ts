import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import os from "node:os";
import { promisify } from "node:util";
import type { Figure } from "./figures.ts";

function verdictOf({ goal }: Figure): string {
  if (!goal) return "";
  const bounds = [goal.atMost === undefined ? [] : `at most ${goal.atMost}`, goal.atLeast === undefined ? [] : `at least ${goal.atLeast}`];
  return `${bounds.flat().join(", ")} at ${goal.of ?? "p50"}: ${goal.met ? "met" : "missed"}`;
}

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1));

export function printFigures(figures: readonly Figure[], notes: readonly string[] = []): void {
  const rows = figures.map((figure) => {
    const { name, unit, p50, p95, p99, spread, samples, reference = "" } = figure;
    const cells = [name, unit, [p50, p95, p99].map(shown).join(" / "), `${shown(spread.lowest)}–${shown(spread.highest)}`, samples];
    return `| ${[...cells, reference, verdictOf(figure)].join(" | ")} |`;
  });
  const head = [
    "| figure | unit | p50 / p95 / p99 | p50 of the rounds | samples | reference | goal |",
    "| --- | --- | --- | --- | --- | --- | --- |",
  ];
  process.stdout.write(`${[...head, ...rows, "", ...notes].join("\n")}\n`);
}

export const RESULTS = new URL("../results/", import.meta.url);

const git = promisify(execFile);

/** The short name of the commit, with "+" when files of the project differ from it; undefined outside a repository. */
async function currentCommit(): Promise<string | undefined> {
  const cwd = new URL("../..", import.meta.url);
  try {
    const [{ stdout: commit }, { stdout: changed }] = await Promise.all([
      git("git", ["rev-parse", "--short=10", "HEAD"], { cwd }),
      git("git", ["status", "--porcelain", "--", ".", ":!benchmarks/results"], { cwd }),
    ]);
    return commit.trim() + (changed === "" ? "" : "+");
  } catch {
    return undefined;
  }
}

/** What was published under other names, when BENCH_ADD asks for it. */
async function keptFigures(file: URL, figures: readonly Figure[]): Promise<Figure[]> {
  if (process.env["BENCH_ADD"] !== "true") return [];
  const published = JSON.parse(await readFile(file, "utf8")) as Results;
  const measured = new Set(figures.map((figure) => figure.name));
  return (published.figures ?? []).filter((figure) => !measured.has(figure.name));
}

/** Writes `results/NAME.json`. With BENCH_ADD=true the figures that this run did not measure stay: a bench can be published in pieces. */
export async function writeResults(name: string, measured: Measured): Promise<void> {
  const machine = { cpu: os.cpus()[0]?.model, cores: os.cpus().length, node: process.version };
  const file = new URL(`${name}.json`, RESULTS);
  const commit = await currentCommit();
  const figures = [...(await keptFigures(file, measured.figures)), ...measured.figures];
  await writeFile(file, `${JSON.stringify({ date: new Date().toISOString(), machine, commit, ...measured, figures }, null, 2)}\n`);
}

export interface Measured {
  figures: readonly Figure[];
  notes?: readonly string[];
  [detail: string]: unknown;
}

/** A file of `results/`, as `writeResults` writes it. */
export interface Results extends Measured {
  /** ISO 8601. */
  date: string;
  commit?: string;
}
