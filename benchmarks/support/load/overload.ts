import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgresServer } from "../../../test/servers/postgres-server.ts";
import { type Offered, offerTurns, startClientProcess, storedTurns } from "./offer-turns.ts";
import { printFigures, writeResults } from "../results.ts";
import type { Progress } from "../progress.ts";
import { makeSamples, percentile } from "../figures.ts";
import { startProcess, startService } from "../start-process.ts";

const OFFERED = Number(process.env["BENCH_STREAMS"] ?? 400);
const LIMIT = Number(process.env["BENCH_LIMIT"] ?? 100);
const TOKENS = Number(process.env["BENCH_TOKENS"] ?? 2_000);
/** Those beyond the limit come so many milliseconds after the others, when each place is taken. */
const BEYOND_AFTER_MS = 100;
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
/** How much longer those that were let in may take when four times as many as the limit ask. */
const MOST_TIMES = 3;

const AT_LIMIT = `turn, ${LIMIT} offered, the limit`;
const BEYOND = `turn of those let in, ${OFFERED} offered`;
const REFUSED = `refusal, ${OFFERED} offered`;
const LOST = "turns that were let in and are not stored as they were told";

/** Offers more streams than a process may have: all that it lets in end stored, the others hear so at once. */
export async function benchOverload(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const model = await startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args: [String(TOKENS), "0"] });
  opened.defer(() => model.stop());
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const service = await startService(model.line, {
    DATABASE_URL: postgres.url,
    MAX_TURNS_PER_PROCESS: String(LIMIT),
    ENABLE_EPISODIC_MEMORY: "false",
  });
  opened.defer(() => service.stop());

  const others = await startClientProcess();
  opened.defer(() => others.stop());

  const samples = makeSamples();
  const letIn: number[] = [];
  async function offer(streams: number, round: number, turnName: string): Promise<void> {
    const prefix = `${turnName} ${round}`;
    const atLimit = offerTurns(service.line, Math.min(streams, LIMIT), prefix);
    if (streams > LIMIT) await sleep(BEYOND_AFTER_MS);
    const beyond = streams > LIMIT ? others.offerTurns(service.line, streams - LIMIT, `${prefix}-beyond`) : [];
    const offered = (await Promise.all([atLimit, beyond])).flat();
    const ofKind = (kind: Offered["kind"]): number[] => offered.filter((one) => one.kind === kind).map(({ ms }) => ms);
    samples.add(turnName, round, ...ofKind("done"));
    if (streams > LIMIT) {
      samples.add(REFUSED, round, ...ofKind("refused"));
      letIn.push(ofKind("done").length);
    }
    const stored = await storedTurns(postgres.url, prefix);
    const isWrong = stored.questions !== ofKind("done").length || stored.answers !== stored.questions || stored.withoutEnd > 0;
    const lost = ofKind("lost").length + (isWrong ? Math.max(1, stored.questions - stored.answers) : 0);
    samples.add(LOST, round, lost);
    const [reason] = offered.flatMap((one) => (one.kind === "lost" ? [one.reason] : []));
    if (lost > 0) process.stderr.write(`\n${prefix}: ${lost} lost, ${JSON.stringify(stored)}, as with ${reason}\n`);
  }

  progress.step("warm-up");
  await offerTurns(service.line, LIMIT, "warm-up");
  await others.offerTurns(service.line, LIMIT, "warm-up-beyond");
  for (let round = 0; round < ROUNDS; round++) {
    progress.step("rounds", round, ROUNDS);
    await offer(LIMIT, round, AT_LIMIT);
    await offer(OFFERED, round, BEYOND);
  }

  const p99AtLimit = percentile(samples.runs(AT_LIMIT).flat(), 0.99);
  const figures = [
    samples.figure(AT_LIMIT, "ms"),
    samples.figure(BEYOND, "ms", { goal: { atMost: MOST_TIMES * p99AtLimit, of: "p99" } }),
    samples.figure(REFUSED, "ms"),
    samples.figure(LOST, "turns", { goal: { atMost: 0, of: "p99" } }),
  ];
  const notes = [
    `One process on a real Postgres with MAX_TURNS_PER_PROCESS=${LIMIT}, without an index; answers of ${TOKENS.toLocaleString("en")} tokens, sent as fast as they are read, each stream a user of its own. ${availableParallelism()} cores for service, model's server, Postgres and clients.`,
    `${LIMIT} streams were offered in the same moment and the other ${OFFERED - LIMIT}, by clients in a process of their own, ${BEYOND_AFTER_MS} ms later; let in were ${letIn.join(" and ")}. Stored is what Postgres has afterwards: a question and a completed answer for each turn let in, an end for each turn, and nothing of the others.`,
  ];
  printFigures(figures, notes);
  await writeResults("overload", { figures, notes });
}
