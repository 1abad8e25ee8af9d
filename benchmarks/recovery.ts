import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createDataFolder } from "../test/servers/data-folder.ts";
import { startMemoryService, type MemoryService } from "./support/load/memory-service.ts";
import { startMemoryStores } from "./support/load/memory-stores.ts";
import { allJobsDone, questionOf, seedKnowledge, seedUsers } from "./support/load/memory-users.ts";
import { printFigures } from "./support/print-figures.ts";
import type { Progress } from "./support/progress.ts";
import { makeSamples, type Samples } from "./support/samples.ts";
import { startProcess } from "./support/start-process.ts";
import { writeResults } from "./support/write-results.ts";

const KILLS = Number(process.env["BENCH_ROUNDS"] ?? 3);
/** Starts of each service in a round of starts. */
const STARTS = 4;
const START_ROUNDS = Math.min(KILLS, 3);
const USERS = 50;
const STREAMS = 10;
/** Of the user who is not among those streams. */
const BYSTANDER = STREAMS;
const TOKENS = 80;
const BETWEEN_MS = 50;
/** The streams are in the middle of their answers. */
const KILL_AFTER_MS = 1_000;
const ASK_AGAIN_MS = 100;
/** Many times what a lease takes. */
const PATIENCE_MS = 120_000;
const PREFIX = "recovery";
const BARE = "a bare start of Node";

const startOf = (name: string): string => `start to listening, ${name}`;
const afterKill = (what: string, name: string): string => `after kill -9: ${what}, ${name}`;

interface Startable {
  name: string;
  start: () => Promise<MemoryService>;
}

async function bareStartMs(): Promise<number> {
  const began = performance.now();
  await once(spawn(process.execPath, ["-e", ""], { stdio: "ignore" }), "exit");
  return performance.now() - began;
}

/** Starts and stops each service in turn, on the data that it has. */
async function measureStarts(startables: readonly Startable[], samples: Samples, progress: Progress): Promise<void> {
  for (let round = 0; round < START_ROUNDS; round++) {
    for (let count = 0; count < STARTS; count++) {
      progress.step("starts", round * STARTS + count, START_ROUNDS * STARTS);
      samples.add(BARE, round, await bareStartMs());
      for (const { name, start } of startables) {
        const service = await start();
        samples.add(startOf(name), round, service.startMs);
        await service.process.stop();
      }
    }
  }
}

/** Asks again and again until an answer begins; milliseconds from `since` until its first token. */
async function firstAnswerAfter(since: number, service: MemoryService, user: number, turn: number): Promise<number> {
  for (;;) {
    const askedAt = performance.now();
    try {
      const { firstTokenMs } = await service.ask(questionOf(PREFIX, user, turn));
      return askedAt - since + firstTokenMs;
    } catch (error) {
      if (performance.now() - since > PATIENCE_MS) throw error;
      await sleep(ASK_AGAIN_MS);
    }
  }
}

/** Kills a service in the middle of ten answers, with jobs waiting, and starts it again. */
async function measureKill({ name, start }: Startable, round: number, samples: Samples): Promise<void> {
  const killed = await start();
  const answers = Array.from({ length: STREAMS }, (_, user) => killed.ask(questionOf(PREFIX, user, round)).catch(() => undefined));
  await Promise.all([sleep(KILL_AFTER_MS), seedUsers(killed.url, { prefix: `left-${round}`, count: 5, exchanges: 8 })]);
  await killed.process.stop("SIGKILL");
  const killedAt = performance.now();
  const cut = (await Promise.all(answers)).filter((answer) => answer === undefined).length;
  samples.add(afterKill("answers that it cut", name), round, cut);

  const service = await start();
  try {
    const add = (what: string, ms: number): void => samples.add(afterKill(what, name), round, ms);
    add("start to listening", service.startMs);
    await Promise.all([
      firstAnswerAfter(killedAt, service, BYSTANDER, round).then((ms) => add("until another conversation is answered", ms)),
      ...Array.from({ length: STREAMS }, async (_, user) =>
        add("until the same conversation is answered", await firstAnswerAfter(killedAt, service, user, round + 1)),
      ),
      allJobsDone(service.url).then(() => add("until all jobs are done", performance.now() - killedAt)),
    ]);
    await allJobsDone(service.url);
  } finally {
    await service.process.stop();
  }
}

/** How long the service takes to start on data that is there, and to be whole again after kill -9. */
export async function benchRecovery(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const args = [String(TOKENS), String(BETWEEN_MS)];
  const model = await startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args });
  opened.defer(() => model.stop());
  const stores = await startMemoryStores(opened);
  const data = await createDataFolder({ migrated: false });
  opened.defer(() => data.remove());
  const environments = Object.entries({ PGlite: { DATA_DIR: data.folder }, Postgres: await stores.open() });
  const startables = environments.map(([name, environment]) => ({
    name,
    start: () => startMemoryService(name, model.line, environment),
  }));
  const samples = makeSamples();
  for (const { name, start } of startables) {
    progress.step(`bringing in users: ${name}`);
    const service = await start();
    samples.add(`first start, which makes the tables, ${name}`, 0, service.startMs);
    await seedKnowledge(service.url);
    await seedUsers(service.url, { prefix: PREFIX, count: USERS, exchanges: 8 });
    await allJobsDone(service.url);
    await service.process.stop();
  }
  await measureStarts(startables, samples, progress);
  for (let round = 0; round < KILLS; round++) {
    progress.step("kills", round, KILLS);
    for (const startable of startables) await measureKill(startable, round, samples);
  }

  const figures = samples.names().map((name) => {
    if (name === BARE) return samples.figure(name, "ms");
    if (name.includes("answers that it cut")) return samples.figure(name, "answers");
    const goal = startables.some((startable) => startOf(startable.name) === name) ? { goal: { atMost: 2_000, of: "p95" as const } } : {};
    return samples.figure(name, "ms", { reference: BARE, ...goal });
  });
  const notes = [
    `A start is from the spawn of the process until it says that it listens, on the data of ${USERS} users, with the compile cache that earlier starts left; index beside Postgres: ${stores.index}.`,
    `At the kill ${STREAMS} answers of ${TOKENS} tokens, ${BETWEEN_MS} ms apart, are under way and five imported conversations wait for their jobs. Times after it are from the kill, the start included, until the first token of the next answer, asked for every ${ASK_AGAIN_MS} ms; TURN_LEASE_MS is as it is by itself (15,000).`,
    "All figures are of one process at a time: with a second one on the same Postgres other conversations are answered all along.",
  ];
  printFigures(figures, notes);
  await writeResults("recovery", { figures, notes });
}
