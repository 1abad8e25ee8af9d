import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort } from "./postgres-server.ts";

const MAIN = fileURLToPath(new URL("../../server/main.ts", import.meta.url));

/** The service as a process of its own, for tests that kill it. */
export interface ServiceProcess {
  url: string;
  pid: number;
  /** What it has printed so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  /** Its exit code, or null when a signal ended it. */
  exited: Promise<number | null>;
}

/** Starts `server/main.ts` with only the given environment (and PATH) and waits until it listens. */
export async function startServiceProcess(environment: Record<string, string>): Promise<ServiceProcess> {
  const port = await freePort();
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env["PATH"], PORT: String(port), ...environment },
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const exited = once(child, "exit").then(([code]) => code as number | null);
  const service = {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    output: () => printed,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    exited,
  };
  for (;;) {
    const state = await Promise.race([
      exited.then((code) => `ended with ${code}`),
      fetch(`${service.url}/healthz`).then(
        () => "listening",
        () => new Promise<string>((resolve) => setTimeout(() => resolve("starting"), 50)),
      ),
    ]);
    if (state === "listening") return service;
    if (state !== "starting") throw new Error(`the service ${state} at its start: ${printed}`);
  }
}
