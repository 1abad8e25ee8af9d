import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ownCpuMs } from "./process-cpu.ts";

export interface MeasuredProcess {
  line: string;
  /** User and system time so far, in milliseconds. Read from /proc in ticks of 10 ms: measure over many turns. */
  cpuMs(): number;
  /** Resident memory in MiB. */
  residentMiB(): number;
  /** The most that was resident so far, in MiB. */
  peakMiB(): number;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Starts Node with these arguments in the project's folder, and waits for the line of its output that matches `ready`. */
export async function startProcess(
  words: readonly string[],
  ready: RegExp,
  environment: Record<string, string> = {},
): Promise<MeasuredProcess> {
  const child = spawn(process.execPath, words, {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  const line = await new Promise<string>((resolve, reject) => {
    const onText = (text: string): void => {
      printed += text;
      const match = ready.exec(printed);
      if (match) resolve(match[1] ?? match[0]);
    };
    child.stdout.setEncoding("utf8").on("data", onText);
    child.stderr.setEncoding("utf8").on("data", onText);
    child.once("exit", (code) => reject(new Error(`${words.join(" ")} ended with ${code} at its start: ${printed}`)));
  });
  child.stdout.removeAllListeners("data").resume();
  child.stderr.removeAllListeners("data").resume();
  const { pid = 0 } = child;
  const statusMiB = (field: "VmRSS" | "VmHWM"): number =>
    Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  return {
    line,
    cpuMs: () => ownCpuMs(pid),
    residentMiB: () => statusMiB("VmRSS"),
    peakMiB: () => statusMiB("VmHWM"),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, "exit");
    },
  };
}

/** The model's server, which ends with `opened`: answers of so many words in a line or a list, with pauses in milliseconds. */
export async function startModel(
  opened: AsyncDisposableStack,
  tokens = 40,
  betweenMs = 0,
  form: "line" | "list" = "line",
): Promise<MeasuredProcess> {
  const args = [String(tokens), String(betweenMs), form];
  const model = await startProcess(["benchmarks/support/model-server-process.ts", ...args], /(http\S+)/);
  opened.defer(() => model.stop());
  return model;
}

const settingsFor = (modelUrl: string): Record<string, string> => ({
  PORT: "0",
  NODE_ENV: "production",
  OPENAI_BASE_URL: modelUrl,
  OPENAI_API_KEY: "bench",
  CHAT_MODEL: "bench",
  EMBEDDING_MODEL: "built-in",
  RATE_LIMIT_PER_MINUTE: "0",
  MAX_CONCURRENT_TURNS_PER_USER: "0",
});

const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as { scripts: { start: string } };
const [, ...START] = scripts.start.split(" ");

/** Starts this service as `npm start` does; `line` is its address. `environment` overrides the settings of every bench. */
export function startService(modelUrl: string, environment: Record<string, string>): Promise<MeasuredProcess> {
  return startProcess(START, /"url":"([^"]+)"/, { ...settingsFor(modelUrl), ...environment });
}

export const MODEL_AT_ONCE = "bench-at-once";
