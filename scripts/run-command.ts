import { parseArgs, type ParseArgsConfig } from "node:util";
import { AppError, toAppError } from "../errors/app-error.ts";
import { belowProgress } from "./progress-bar.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Given<Wanted extends Options> = ReturnType<typeof parseArgs<{ options: Wanted; allowPositionals: true }>>;

interface Command<Wanted extends Options> {
  usage: string;
  options?: Wanted;
  /** The least and the most words besides options. */
  words?: readonly [number, number];
}

function read<Wanted extends Options>({ options, words: [least, most] = [0, 0] }: Command<Wanted>): Given<Wanted> | null {
  try {
    const given = parseArgs({ options: options ?? ({} as Wanted), allowPositionals: true });
    const { length } = given.positionals;
    const isEmpty = [...given.positionals, ...Object.values(given.values)].includes("");
    return length < least || length > most || isEmpty ? null : given;
  } catch {
    return null; // The usage says which options there are.
  }
}

/** Runs a command. `--help`, or anything unknown (with status 1), shows its usage; a failure is one message without a stack. */
export async function runCommand<Wanted extends Options>(
  command: Command<Wanted>,
  run: (given: Given<Wanted>, refuse: () => never) => Promise<void>,
): Promise<void> {
  if (process.argv.slice(2).some((word) => word === "--help" || word === "-h")) return void console.log(command.usage);
  const refuse = (): never => {
    throw new AppError("invalid_request", command.usage);
  };
  try {
    await run(read(command) ?? refuse(), refuse);
  } catch (error) {
    console.error(belowProgress(toAppError(error).message));
    process.exitCode = 1;
  }
}
