import { parseArgs } from "node:util";
import type { Bench } from "./bench.ts";

export type Benches = Readonly<Record<string, Bench>>;

export type Command =
  | { kind: "run"; names: string[]; argument?: string; numbers: Record<string, number>; isLong: boolean }
  /** `names` is empty for all benches. */
  | { kind: "help"; names: string[] }
  | { kind: "report"; names: string[] }
  | { kind: "refused"; problem: string };

const REPORT = "report";

const optionsOf = (benches: readonly Bench[]): Set<string> => new Set(benches.flatMap(({ numbers }) => Object.keys(numbers)));

/** Reads the names of benches, `--long`, `--help`, and the named benches' numbers. */
export function readCommand(args: string[], benches: Benches): Command {
  const refused = (problem: string): Command => ({ kind: "refused", problem });
  const numbers = Object.fromEntries([...optionsOf(Object.values(benches))].map((option) => [option, { type: "string" as const }]));
  let parsed;
  try {
    parsed = parseArgs({ args, allowPositionals: true, options: { ...numbers, long: { type: "boolean" }, help: { type: "boolean" } } });
  } catch (error) {
    // "Unknown option '--round'. To specify a positional argument …": only the first sentence is about this command.
    return refused((error as Error).message.replace(/\. To specify[^]*/, "."));
  }
  const { long = false, help = false, ...given } = parsed.values;
  const words = parsed.positionals.filter((name) => name !== REPORT);
  const taker = words.findIndex((name) => Object.hasOwn(benches, name) && benches[name]?.argument);
  const argument = taker < 0 || parsed.positionals.includes(REPORT) ? undefined : words.splice(taker + 1, 1)[0];
  const named = words;
  const unknown = named.filter((name) => !Object.hasOwn(benches, name));
  if (unknown.length > 0) return refused(`There is no bench ${unknown.join(", ")}. There are ${Object.keys(benches).join(", ")}.`);

  const names = named.length > 0 ? named : Object.keys(benches).filter((name) => !benches[name]?.argument);
  const known = optionsOf(names.flatMap((name) => benches[name] ?? []));
  for (const [option, value] of Object.entries(given)) {
    if (!known.has(option)) return refused(`${names.join(", ")}: no option --${option}.`);
    if (!/^\d+$/.test(String(value))) return refused(`--${option} ${String(value)}: a whole number is needed.`);
  }
  if (help) return { kind: "help", names: named };
  if (parsed.positionals.includes(REPORT)) return { kind: "report", names: named };
  const needed = named.find((name) => benches[name]?.argument);
  if (needed !== undefined && argument === undefined) return refused(`${needed}: name ${benches[needed]?.argument?.of} behind it.`);
  const chosen = Object.fromEntries(Object.entries(given).map(([option, value]) => [option, Number(value)]));
  return { kind: "run", names, ...(argument === undefined ? {} : { argument }), numbers: chosen, isLong: long };
}

const inMinutes = (count: number): string => `${count} ${count === 1 ? "minute" : "minutes"}`;

export function helpOfAll(benches: Benches): string[] {
  const rows = Object.entries(benches).map(
    ([name, { asks, minutes }]) => `  ${name.padEnd(13)} ${asks} (${inMinutes(minutes.short)}; --long ${minutes.long})`,
  );
  return [
    "npm run bench [NAME…] -- [--long] [--OPTION NUMBER…]",
    "",
    "Asks the service the questions of the benches that are named, or of all, one after another, and prints the answers.",
    "",
    ...rows,
    `  ${REPORT.padEnd(13)} prints the last published results of this machine, of all benches or of those that are named too`,
    "",
    "  --long     the published run: it takes longer and writes benchmarks/results/NAME.json",
    "  --help     this text; with a NAME its options, and what it needs: npm run bench turn -- --help",
  ];
}

export function helpOf(name: string, { asks, minutes, numbers, environment = {}, argument }: Bench): string[] {
  const options = Object.entries(numbers).map(
    ([option, { of, short, long }]) => `  --${option} NUMBER`.padEnd(28) + `${of}: ${short}, with --long ${long}`,
  );
  const variables = Object.entries(environment).map(([variable, what]) => `  ${variable}: ${what}`);
  return [
    `npm run bench ${name} -- ${argument ? `${argument.name} ` : ""}[--long] [--OPTION NUMBER…]`,
    "",
    ...(argument ? [`  ${argument.name}: ${argument.of}`, ""] : []),
    `${asks}. Takes ${inMinutes(minutes.short)} on two quiet cores, with --long ${inMinutes(minutes.long)}.`,
    "",
    ...options,
    ...(variables.length > 0 ? ["", "Environment:", ...variables] : []),
    "",
  ];
}
