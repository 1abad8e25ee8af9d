import { LEASE_MS, runChaos } from "../test/support/chaos-run.ts";
import { startPostgresServer } from "../test/support/postgres-server.ts";
import { killServiceProcesses } from "../test/support/service-process.ts";
import { writeResults } from "./support/write-results.ts";

const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? 300);
const SEED = Number(process.env["CHAOS_SEED"] ?? Date.now() % 1_000_000);

/** Two processes that are killed at random under 20 users: what came of their messages. Throws when anything was lost, doubled or left open. */
export async function benchChaos(): Promise<void> {
  process.stderr.write(`chaos: ${SECONDS} s, CHAOS_SEED=${SEED}\n`);
  const postgres = await startPostgresServer();
  try {
    const { figures, wrongs } = await runChaos(postgres.url, SECONDS, SEED);
    process.stdout.write(`${JSON.stringify({ leaseMs: LEASE_MS, ...figures }, null, 2)}\n`);
    if (wrongs.length > 0) throw new Error(`what clients were told and what is stored differ:\n${wrongs.join("\n\n")}`);
    await writeResults("chaos", { leaseMs: LEASE_MS, ...figures });
  } finally {
    await killServiceProcesses();
    await postgres.stop();
  }
}
