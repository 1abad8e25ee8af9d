import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const TICK_MS = 10;

interface ProcessTimes {
  parent: number;
  ownMs: number;
  endedMs: number;
}

/** Null when the process is gone. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function timesOf(pid: number): ProcessTimes | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = (...places: number[]): number => places.reduce((sum, place) => sum + Number(fields[place]), 0) * TICK_MS;
    return { parent: Number(fields[1]), ownMs: ticks(11, 12), endedMs: ticks(13, 14) };
  } catch {
    return null;
  }
}

/** CPU milliseconds of a process alone. Throws when it is gone. */
function ownCpuMs(pid: number): number {
  const times = timesOf(pid);
  if (!times) throw new Error(`process ${pid} is gone`);
  return times.ownMs;
}

function processes(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** CPU milliseconds of a process and its children, ended ones included. */
export function treeCpuMs(pid: number): number {
  const times = timesOf(pid);
  if (!times) return 0;
  const children = processes().map(timesOf);
  return times.ownMs + times.endedMs + children.reduce((sum, child) => sum + (child?.parent === pid ? child.ownMs : 0), 0);
}

export function parentOf(pid: number): number {
  return timesOf(pid)?.parent ?? Number.NaN;
}

export interface MeasuredProcess {
  line: string;
  /** Milliseconds so far, from /proc in ticks of 10 ms: measure over many turns. */
  cpuMs(): number;
  residentMiB(): number;
  peakMiB(): number;
  stop(): Promise<void>;
}

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Starts Node with these arguments, and waits for the output line that matches `ready`. */
export async function startProcess(
  words: readonly string[],
  ready: RegExp,
  environment: Record<string, string> = {},
  folder = ROOT,
): Promise<MeasuredProcess> {
  const child = spawn(process.execPath, words, {
    cwd: folder,
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

/** The model's server, which ends with `opened`: answers of so many words, with pauses in milliseconds. */
export async function startModel(opened: AsyncDisposableStack, tokens = 40, betweenMs = 0): Promise<MeasuredProcess> {
  const args = [String(tokens), String(betweenMs)];
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

/** Starts the service that is built in `folder`, as `npm start` does; `line` is its address. `environment` overrides the benches' settings. */
export function startService(modelUrl: string, environment: Record<string, string>, folder = ROOT): Promise<MeasuredProcess> {
  const { scripts } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as { scripts: { start: string } };
  const [, ...start] = scripts.start.split(" ");
  return startProcess(start, /"url":"([^"]+)"/, { ...settingsFor(modelUrl), ...environment }, folder);
}

export const MODEL_AT_ONCE = "bench-at-once";
