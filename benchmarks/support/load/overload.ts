import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgresServer } from "../../../test/servers/postgres-server.ts";
import { type Offered, offerTurns, startClientProcess, storedTurns } from "./offer-turns.ts";
import type { Progress } from "../progress.ts";
import { type Figure, makeSamples, percentile } from "../figures.ts";
import { startModel, startService } from "../start-process.ts";

const BEYOND_AFTER_MS = 100;
/** Goal: the time of a turn with more turns than places, over that with fewer. */
const MOST_TIMES = 3;

/** `limit` places for turns, `offered` streams, each with an answer of `tokens`. */
type Overload = Record<"limit" | "offered" | "tokens" | "rounds", number>;

export async function measureOverload(
  { limit, offered, tokens, rounds }: Overload,
  progress: Progress,
): Promise<{ figures: Figure[]; notes: string[] }> {
  const atLimitName = `turn, ${limit} offered, the limit`;
  const beyondName = `turn of those let in, ${offered} offered`;
  const refusedName = `refusal, ${offered} offered`;
  const lostName = "turns that were let in and are not stored as they were told";

  await using opened = new AsyncDisposableStack();
  const model = await startModel(opened, tokens);
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const environment = { DATABASE_URL: postgres.url, MAX_TURNS_PER_PROCESS: String(limit), ENABLE_EPISODIC_MEMORY: "false" };
  const service = await startService(model.line, environment);
  opened.defer(() => service.stop());

  const others = await startClientProcess();
  opened.defer(() => others.stop());

  const samples = makeSamples();
  const letIn: number[] = [];
  async function offer(streams: number, round: number, turnName: string): Promise<void> {
    const prefix = `${turnName} ${round}`;
    const atLimit = offerTurns(service.line, Math.min(streams, limit), prefix);
    if (streams > limit) await sleep(BEYOND_AFTER_MS);
    const beyond = streams > limit ? others.offerTurns(service.line, streams - limit, `${prefix}-beyond`) : [];
    const outcomes = (await Promise.all([atLimit, beyond])).flat();
    const ofKind = (kind: Offered["kind"]): number[] => outcomes.filter((one) => one.kind === kind).map(({ ms }) => ms);
    samples.add(turnName, round, ...ofKind("done"));
    if (streams > limit) {
      samples.add(refusedName, round, ...ofKind("refused"));
      letIn.push(ofKind("done").length);
    }
    const stored = await storedTurns(postgres.url, prefix);
    const isWrong = stored.questions !== ofKind("done").length || stored.answers !== stored.questions || stored.withoutEnd > 0;
    const lost = ofKind("lost").length + (isWrong ? Math.max(1, stored.questions - stored.answers) : 0);
    samples.add(lostName, round, lost);
    const [reason] = outcomes.flatMap((one) => (one.kind === "lost" ? [one.reason] : []));
    if (lost > 0) process.stderr.write(`\n${prefix}: ${lost} lost, ${JSON.stringify(stored)}, as with ${reason}\n`);
  }

  progress.step("overload: warm-up");
  await offerTurns(service.line, limit, "warm-up");
  await others.offerTurns(service.line, limit, "warm-up-beyond");
  for (let round = 0; round < rounds; round++) {
    progress.step("overload: rounds", round, rounds);
    await offer(limit, round, atLimitName);
    await offer(offered, round, beyondName);
  }

  const p99AtLimit = percentile(samples.runs(atLimitName).flat(), 0.99);
  const figures = [
    samples.figure(atLimitName, "ms"),
    samples.figure(beyondName, "ms", { goal: { atMost: MOST_TIMES * p99AtLimit, of: "p99" } }),
    samples.figure(refusedName, "ms"),
    samples.figure(lostName, "turns", { goal: { atMost: 0, of: "p99" } }),
  ];
  const notes = [
    `One process on a real Postgres with MAX_TURNS_PER_PROCESS=${limit}, without an index; answers of ${tokens.toLocaleString("en")} tokens, sent as fast as they are read, each stream a user of its own. ${availableParallelism()} cores for service, model's server, Postgres and clients.`,
    `${limit} streams were offered in the same moment and the other ${offered - limit}, by clients in a process of their own, ${BEYOND_AFTER_MS} ms later; let in were ${letIn.join(" and ")}. Stored is what Postgres has afterwards: a question and a completed answer for each turn let in, an end for each turn, and nothing of the others.`,
  ];
  return { figures, notes };
}
