import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import os from "node:os";
import { promisify } from "node:util";
import type { Figure } from "./figures.ts";

function verdictOf({ goal }: Figure): string {
  if (!goal) return "";
  const bounds = [goal.atMost === undefined ? [] : `at most ${goal.atMost}`, goal.atLeast === undefined ? [] : `at least ${goal.atLeast}`];
  return `${bounds.flat().join(", ")} at ${goal.of ?? "p50"}: ${goal.met ? "met" : "missed"}`;
}

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1));

export function linesOfFigures(figures: readonly Figure[], notes: readonly string[] = []): string[] {
  const rows = figures.map((figure) => {
    const { name, unit, p50, p95, p99, spread, samples, reference = "" } = figure;
    const cells = [name, unit, [p50, p95, p99].map(shown).join(" / "), `${shown(spread.lowest)}–${shown(spread.highest)}`, samples];
    return `| ${[...cells, reference, verdictOf(figure)].join(" | ")} |`;
  });
  const head = [
    "| figure | unit | p50 / p95 / p99 | p50 of the rounds | samples | reference | goal |",
    "| --- | --- | --- | --- | --- | --- | --- |",
  ];
  return [...head, ...rows, "", ...notes];
}

/** Not in git. */
const RESULTS = new URL("../results/", import.meta.url);

const git = promisify(execFile);

/** The short name of the commit, with "+" when files differ from it; undefined outside a repository. */
async function currentCommit(): Promise<string | undefined> {
  const cwd = new URL("../..", import.meta.url);
  try {
    const [{ stdout: commit }, { stdout: changed }] = await Promise.all([
      git("git", ["rev-parse", "--short=10", "HEAD"], { cwd }),
      git("git", ["status", "--porcelain"], { cwd }),
    ]);
    return commit.trim() + (changed === "" ? "" : "+");
  } catch {
    return undefined;
  }
}

/** This machine's last published results, or null. */
async function readResults(name: string, folder: URL): Promise<Results | null> {
  const text = await readFile(new URL(`${name}.json`, folder), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  return text === null ? null : (JSON.parse(text) as Results);
}

export async function reportLines(name: string, folder = RESULTS): Promise<string[]> {
  const results = await readResults(name, folder);
  if (!results) return ["", `${name}: no published run on this machine. npm run bench ${name} -- --long makes one.`];
  const { date, commit, figures, notes } = results;
  return ["", `## ${name}, ${date.slice(0, 10)}, commit ${commit ?? "unknown"}`, "", ...linesOfFigures(figures, notes)];
}

/** Figures published under other names, when BENCH_ADD asks for it. */
async function keptFigures(name: string, folder: URL, figures: readonly Figure[]): Promise<readonly Figure[]> {
  if (process.env["BENCH_ADD"] !== "true") return [];
  const measured = new Set(figures.map((figure) => figure.name));
  return ((await readResults(name, folder))?.figures ?? []).filter((figure) => !measured.has(figure.name));
}

/** Writes `results/NAME.json`. BENCH_ADD=true keeps the figures that this run did not measure: a bench can be published in pieces. */
export async function writeResults(name: string, measured: Measured, folder = RESULTS): Promise<void> {
  const machine = { cpu: os.cpus()[0]?.model, cores: os.cpus().length, node: process.version };
  const commit = await currentCommit();
  const figures = [...(await keptFigures(name, folder, measured.figures)), ...measured.figures];
  await mkdir(folder, { recursive: true });
  await writeFile(
    new URL(`${name}.json`, folder),
    `${JSON.stringify({ date: new Date().toISOString(), machine, commit, ...measured, figures }, null, 2)}\n`,
  );
}

export interface Measured {
  figures: readonly Figure[];
  notes?: readonly string[];
  [detail: string]: unknown;
}

/** A file of `results/`. */
interface Results extends Measured {
  /** ISO 8601. */
  date: string;
  commit?: string;
}
