import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { waitUntil } from "../support/wait-until.ts";
import { freePort } from "./free-port.ts";

const { scripts } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { scripts: { start: string } };
/** Of `npm start`. */
const FLAGS = scripts.start.split(" ").slice(1, -1);

/** Made from the sources when the tests start. */
const MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));

export const NO_LIMITS = { RATE_LIMIT_PER_MINUTE: "0", MAX_CONCURRENT_TURNS_PER_USER: "0" };

export type ServiceProcess = ReturnType<typeof spawnService>;

const started = new Set<ServiceProcess>();

/**
 * Starts the service as it is built, or that of another version, with only the given environment (and PATH), and waits for nothing. Without
 * limits, and on a real Postgres, which lacks the extensions, without memory. With PORT 0 it has its `url` once it listens.
 */
export function spawnService(environment: Record<string, string>, main = MAIN) {
  const child = spawn(process.execPath, [...FLAGS, main], {
    env: {
      PATH: process.env["PATH"],
      ...NO_LIMITS,
      ...(environment["DATABASE_URL"] ? { ENABLE_EPISODIC_MEMORY: "false", ENABLE_CORE_MEMORY: "false" } : {}),
      ...environment,
    },
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const service = {
    get url(): string {
      return /listening on (http:[^\s"]+)/.exec(printed)?.[1] ?? `http://127.0.0.1:${environment["PORT"]}`;
    },
    pid: child.pid ?? 0,
    output: (): string => printed,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Its exit code, or null when a signal ended it, once all that it printed is here. */
    exited: once(child, "close").then(([code]) => code as number | null),
  };
  started.add(service);
  void service.exited.then(() => started.delete(service));
  return service;
}

/** Starts the service on a free port and waits until it says that it listens. */
export async function startServiceProcess(environment: Record<string, string>, main = MAIN): Promise<ServiceProcess> {
  const service = spawnService({ PORT: String(await freePort()), ...environment }, main);
  let hasEnded = false;
  void service.exited.then(() => (hasEnded = true));
  const isListening = (): boolean => service.output().includes("listening on"); // somebody else may answer at its port
  await waitUntil("the service listening, or its end", () => isListening() || hasEnded);
  if (!isListening()) throw new Error(`the service ended with ${await service.exited} at its start: ${service.output()}`);
  return service;
}

/** Leaves it to whoever started it to end it. */
export const keepServiceProcess = (service: ServiceProcess): void => void started.delete(service);

/** Ends what this test file started and has not ended itself; for `afterEach`. */
export async function killServiceProcesses(): Promise<void> {
  for (const service of started) service.kill("SIGKILL");
  await Promise.all([...started].map(({ exited }) => exited));
}
