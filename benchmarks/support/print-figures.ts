import type { Figure } from "./figures.ts";

function verdictOf({ goal }: Figure): string {
  if (!goal) return "";
  const bounds = [goal.atMost === undefined ? [] : `at most ${goal.atMost}`, goal.atLeast === undefined ? [] : `at least ${goal.atLeast}`];
  return `${bounds.flat().join(", ")} at ${goal.of ?? "p50"}: ${goal.met ? "met" : "missed"}`;
}

/** Enough digits to tell figures apart, no more. */
const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1));

/** Prints figures as a table in Markdown, and notes behind it. */
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
