import { defineBench } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import { LEASE_MS } from "../test/hard/chaos/chaos-model.ts";
import { runChaos } from "../test/hard/chaos/chaos-run.ts";
import { killToolTurns } from "../test/hard/chaos/tool-kills.ts";
import { startPostgresServer } from "../test/servers/postgres-server.ts";
import { killServiceProcesses } from "../test/servers/service-process.ts";
import { figureOf, type Goal } from "./support/figures.ts";
import type { Progress } from "./support/progress.ts";

/** On its own server, so that neither measurement disturbs the other. */
async function measureTools(rounds: number, seed: number, progress: Progress) {
  progress.step(`killing in ${rounds} turns with a tool`);
  const postgres = await startPostgresServer();
  try {
    return await killToolTurns(postgres.url, { rounds, seed, agent: "clerk" });
  } finally {
    await killServiceProcesses();
    await postgres.stop();
  }
}

/** Throws, with its figures printed, when anything was lost, doubled or left open. */
async function run(
  { seconds, seed: given, "tool-rounds": toolRounds }: Record<"seconds" | "seed" | "tool-rounds", number>,
  progress: Progress,
): Promise<Measured> {
  const seed = given || Date.now() % 1_000_000;
  const tools = await measureTools(toolRounds, seed, progress);
  const began = performance.now();
  const tell = (): void =>
    progress.step(`seed ${seed}, seconds`, Math.min(seconds, Math.round((performance.now() - began) / 1_000)), seconds);
  const telling = setInterval(tell, 1_000);
  const postgres = await startPostgresServer();
  try {
    const { figures, wrongs } = await runChaos(postgres.url, seconds, seed);
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
      one("tools that ran twice, or of which no step tells", "turns", tools.wrongs.length, { atMost: 0 }),
      one("turns with a tool, in which the process was killed", "turns", tools.figures.kills),
      one("of them answered without knowing whether the tool had run", "turns", tools.figures.unknown),
      one("slowest turn with a tool and a kill", "ms", tools.figures.slowestMs),
    ];
    const notes = [
      `${seconds} s, --seed ${seed}: two processes on one Postgres, killed, stopped and frozen at random under 20 users. A lease is ${LEASE_MS} ms long.`,
      `Turns with a tool: ${toolRounds} rounds on two processes, each killed at another statement of the turn, before or after it: ${Object.entries(
        tools.figures.at,
      )
        .map(([statement, times]) => `${statement} ${times}`)
        .sort()
        .join(", ")}. The model tries to call the tool again.`,
    ];
    wrongs.push(...tools.wrongs);
    if (wrongs.length > 0) throw new Error(`what clients were told and what is stored differ:\n${wrongs.join("\n\n")}`);
    return { leaseMs: LEASE_MS, ...figures, tools: tools.figures, figures: measured, notes };
  } finally {
    clearInterval(telling);
    await killServiceProcesses();
    await postgres.stop();
  }
}

export const chaos = defineBench({
  asks: "Is a message lost or doubled when two processes are killed at random under 20 users",
  minutes: { short: 3, long: 14 },
  numbers: {
    seconds: { of: "seconds of killing", short: 60, long: 300 },
    "tool-rounds": { of: "turns with a tool in which the process is killed", short: 22, long: 200 },
    seed: { of: "seed of what happens when; 0 takes another each time", short: 0, long: 0 },
  },
  run,
});
