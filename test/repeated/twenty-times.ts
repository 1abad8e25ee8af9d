import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";

export const TIMES = 20;

/** The file of `npm run NAME`. */
export const script = (name: string): string => fileURLToPath(new URL(`../../scripts/${name}.ts`, import.meta.url));

/** Runs a file with Node, with only the given environment (and PATH), to its end. */
export async function runFile(
  [file = "", ...words]: readonly string[],
  environment: Record<string, string>,
  input = "",
): Promise<{ code: number; printed: string }> {
  const child = spawn(process.execPath, [file, ...words], {
    env: { PATH: process.env["PATH"], ...environment },
    cwd: "/",
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(input);
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: child.exitCode ?? -1, printed: out + error };
}

/** Runs a file twenty times in a row; it must succeed and print something like this each time. */
export async function twentyTimes(
  command: readonly string[],
  environment: Record<string, string>,
  printed: RegExp,
  input?: string,
): Promise<void> {
  for (let time = 1; time <= TIMES; time++) {
    expect(await runFile(command, environment, input)).toEqual({ code: 0, printed: expect.stringMatching(printed) });
  }
}
