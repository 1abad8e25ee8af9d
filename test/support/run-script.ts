import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

export const BIN = fileURLToPath(new URL("../../dist/conversation-graph.js", import.meta.url));

/** Starts a file with Node, with only the given environment (and PATH). */
export function startFile([file = "", ...words]: readonly string[], environment: Record<string, string> = {}, input = "") {
  const child = spawn(process.execPath, [file, ...words], { env: { PATH: process.env["PATH"], ...environment }, cwd: "/" });
  child.stdin.end(input);
  const closed = once(child, "close");
  const ended = Promise.all([text(child.stdout), text(child.stderr)]).then(async ([stdout, stderr]) => {
    await closed;
    return { code: child.exitCode, stdout, stderr };
  });
  return { ended, interrupt: () => void child.kill("SIGINT") };
}

/** `npm run NAME -- WORDS`, to its end. */
export const runScript = (name: string, words: readonly string[] = [], environment: Record<string, string> = {}, input = "") =>
  startFile([BIN, name, ...words], environment, input).ended;
