import { setTimeout as sleep } from "node:timers/promises";
import type { Network } from "../../servers/real-client.ts";
import { startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { within } from "../../support/wait-until.ts";

/** Milliseconds between a process' start and the next blow, at least and at most. */
const SHORTEST_LIFE_MS = 500;
const LONGEST_LIFE_MS = 3_000;
const OVERSLEEPS_MS = 500;
const STOP_MS = 30_000;

export type ChaosProcesses = Awaited<ReturnType<typeof openChaosProcesses>>;

export function faultsIn(output: string): string[] {
  return output.split("\n").filter((line) => {
    if (line === "" || line === "Try it:" || line.startsWith("  curl ")) return false;
    try {
      return (JSON.parse(line) as { level: number; code?: string }).level >= 50 && !/"code":"(storage|model|shutting|turn)_/.test(line);
    } catch {
      return true;
    }
  });
}

/** `loseReplies` has the database of the environment carry out what it is asked, and lose its replies for a while. */
export async function openChaosProcesses(
  environment: Record<string, string>,
  random: (below: number) => number,
  loseReplies: () => Promise<void>,
) {
  const killed = new Set<string>();
  const ending = new Set<string>();
  const count = { SIGKILL: 0, SIGTERM: 0, freezes: 0, both: 0, lostReplies: 0 };
  const violations: string[] = [];
  async function start(): Promise<ServiceProcess> {
    const service = await startServiceProcess(environment);
    void service.exited.then((code) => {
      if (!ending.has(service.url)) violations.push(`${service.url} ended by itself with ${code}: ${service.output().slice(-3_000)}`);
    });
    return service;
  }
  const services: ServiceProcess[] = await Promise.all([start(), start()]);
  const journal: string[] = [];
  let longestStopMs = 0;
  const note = (what: string): void => void journal.push(`${new Date().toISOString().slice(11, -1)} ${what}`);

  async function end(service: ServiceProcess, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    count[signal]++;
    ending.add(service.url);
    if (signal === "SIGKILL") killed.add(service.url);
    const began = performance.now();
    note(`${signal} to ${service.url}`);
    service.kill(signal);
    const code = await within(`the end after ${signal}`, service.exited, () => service.output().slice(-3_000), STOP_MS);
    const ms = Math.round(performance.now() - began);
    note(`${service.url} ended with ${code} after ${ms} ms`);
    if (signal === "SIGTERM") longestStopMs = Math.max(longestStopMs, ms);
    if (signal === "SIGTERM" && code !== 0)
      violations.push(`${service.url} ended with ${code} after SIGTERM: ${service.output().slice(-3_000)}`);
    // A killed process may leave half a line.
    const output = signal === "SIGKILL" ? service.output().slice(0, service.output().lastIndexOf("\n") + 1) : service.output();
    for (const line of faultsIn(output)) violations.push(`${service.url} printed: ${line}`);
  }

  async function freeze(which: number): Promise<void> {
    const service = services[which] as ServiceProcess;
    count.freezes++;
    note(`${service.url} is frozen`);
    service.kill("SIGSTOP");
    await sleep(Number(environment["TURN_LEASE_MS"]) + OVERSLEEPS_MS);
    service.kill("SIGCONT");
    note(`${service.url} goes on`);
  }

  async function restart(which: number, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    await end(services[which] as ServiceProcess, signal);
    services[which] = await start();
    note(`${services[which].url} is there`);
  }

  async function strike(which: number): Promise<void> {
    if (random(6) === 0) return freeze(which);
    await restart(which, random(4) === 0 ? "SIGTERM" : "SIGKILL");
  }

  const network: Network = { addresses: () => services.map(({ url }) => url), isKilled: (address) => killed.has(address) };
  return {
    network,
    /**
     * Kills and starts them again, or freezes one, one at a time and now and then both, or has replies of Postgres lost, until `isOver`;
     * then both run.
     */
    async harass(isOver: () => boolean): Promise<void> {
      for (let round = 0; ; round++) {
        await sleep(SHORTEST_LIFE_MS + random(LONGEST_LIFE_MS - SHORTEST_LIFE_MS));
        if (isOver()) return;
        if (round % 2 === 0) {
          count.lostReplies++;
          note("replies of Postgres are lost");
          await loseReplies();
          note("Postgres answers again");
          continue;
        }
        const both = random(8) === 0;
        if (both) count.both++;
        if (round === 1) await restart(random(2), "SIGKILL");
        else await Promise.all(both ? [strike(0), strike(1)] : [strike(random(2))]);
      }
    },
    stop: () => Promise.all(services.map((service) => end(service, "SIGTERM"))).then(() => undefined),
    count,
    /** The longest end after SIGTERM, in milliseconds. */
    longestStopMs: () => longestStopMs,
    violations,
    journal,
  };
}
