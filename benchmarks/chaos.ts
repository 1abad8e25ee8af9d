import { LEASE_MS, runChaos } from "../test/hard/chaos/chaos-run.ts";
import { startPostgresServer } from "../test/servers/postgres-server.ts";
import { killServiceProcesses } from "../test/servers/service-process.ts";
import { figureOf, type Goal } from "./support/figures.ts";
import type { Progress } from "./support/progress.ts";
import { writeResults } from "./support/results.ts";

const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? 300);
const SEED = Number(process.env["CHAOS_SEED"] ?? Date.now() % 1_000_000);

/** Two processes that are killed at random under 20 users: what came of their messages. Throws, with the results written, when anything was lost, doubled or left open. */
export async function benchChaos(progress: Progress): Promise<void> {
  const began = performance.now();
  const tell = (): void =>
    progress.step(`CHAOS_SEED=${SEED}, seconds`, Math.min(SECONDS, Math.round((performance.now() - began) / 1_000)), SECONDS);
  const telling = setInterval(tell, 1_000);
  const postgres = await startPostgresServer();
  try {
    const { figures, wrongs } = await runChaos(postgres.url, SECONDS, SEED);
    process.stdout.write(`${JSON.stringify({ leaseMs: LEASE_MS, ...figures }, null, 2)}\n`);
    const one = (name: string, unit: string, value: number, goal?: Goal) => figureOf(name, unit, [[value]], goal ? { goal } : {});
    const { longestUnrenewedMs } = figures.leases;
    const measured = [
      one("wrong, lost or doubled turns", "turns", wrongs.length, { atMost: 0 }),
      one("messages", "messages", figures.messages),
      one("messages that were answered", "messages", figures.done),
      one("a lease beyond its last renewal, longest", "ms", longestUnrenewedMs),
      one("slowest message, with all its retries", "ms", figures.slowestMs),
      one("longest stop after SIGTERM", "ms", figures.longestStopMs),
      one("until all jobs were done at the end", "ms", figures.jobsDoneMs),
    ];
    const notes = [
      `${SECONDS} s, CHAOS_SEED=${SEED}: two processes on one Postgres, killed, stopped and frozen at random under 20 users. A lease is ${LEASE_MS} ms long.`,
    ];
    await writeResults("chaos", { leaseMs: LEASE_MS, ...figures, figures: measured, notes });
    if (wrongs.length > 0) throw new Error(`what clients were told and what is stored differ:\n${wrongs.join("\n\n")}`);
  } finally {
    clearInterval(telling);
    await killServiceProcesses();
    await postgres.stop();
  }
}
