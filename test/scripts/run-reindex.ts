import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const REINDEX = fileURLToPath(new URL("../../scripts/reindex.ts", import.meta.url));

export interface ReindexRun {
  ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
  interrupt(): void;
}

/** `npm run reindex -- WORDS` as a process of its own, with only the given environment. */
export function startReindex(environment: Record<string, string>, words: readonly string[] = []): ReindexRun {
  const child = spawn(process.execPath, [REINDEX, ...words], { env: { PATH: process.env["PATH"], ...environment }, cwd: "/" });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return {
    ended: once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr })),
    interrupt: () => void child.kill("SIGINT"),
  };
}
