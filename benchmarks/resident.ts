import { defineBench } from "./support/bench.ts";
import { createDataFolder } from "../test/servers/data-folder.ts";
import { type MemoryService, startMemoryService } from "./support/service/memory-service.ts";
import { startMemoryStores } from "./support/service/memory-service.ts";
import { allJobsDone, eightAtATime, questionOf, seedKnowledge, seedUsers } from "./support/service/memory-users.ts";
import type { Measured } from "./support/results.ts";
import type { Progress } from "./support/progress.ts";
import { makeSamples, type Samples } from "./support/figures.ts";
import { startModel } from "./support/start-process.ts";
import { rawFetch } from "./support/turn/contenders.ts";

const TURNS = 60;
const FEW = TURNS;
const WARM_UP_USERS = 50;
const PREFIX = "resident";
const RAW = "raw model call, 8 at once";

type Numbers = Record<"conversations" | "rounds" | "warm-up", number>;

const many = ({ conversations }: Numbers): string => conversations.toLocaleString("en");
const residentOf = (name: string, when: string): string => `resident memory ${when}, ${name}`;
const startOf = (name: string): string => `start until it is ready, on a database that is there, ${name}`;
const EMBEDDED_GOALS = { residentMiB: 350, startMs: 1_000 };
const POSTGRES_GOALS = { residentMiB: 200, startMs: 600 };
const afterTurns = (numbers: Numbers): string => `after ${numbers["warm-up"]} turns of ${WARM_UP_USERS} users`;
const turnOf = (name: string, conversations: number): string =>
  `turn, 8 at once, ${conversations.toLocaleString("en")} conversations, ${name}`;

/** Has one turn in each of 60 conversations, the same in every round, and as many raw calls. */
async function use(service: MemoryService, modelUrl: string, conversations: number, round: number, samples: Samples): Promise<void> {
  const raw = rawFetch(modelUrl);
  await eightAtATime(TURNS, async () => samples.add(RAW, round, (await raw.turn("", "Please answer with forty words.")).totalMs));
  await eightAtATime(TURNS, async (index) => {
    const user = index * Math.max(1, Math.floor(conversations / TURNS));
    const { totalMs } = await service.ask(questionOf(PREFIX, user, round));
    samples.add(turnOf(service.name, conversations), round, totalMs);
  });
}

/** Imports the conversations a tenth at a time. Returns the resident memory after each tenth, its jobs done. */
async function fill(service: MemoryService, conversations: number, progress: (done: number) => void): Promise<number[]> {
  const resident: number[] = [];
  const step = Math.max(1, Math.round(conversations / 10));
  for (let from = FEW; from < conversations; from += step) {
    const count = Math.min(step, conversations - from);
    await seedUsers(service.url, { prefix: PREFIX, from, count, exchanges: 1 });
    await allJobsDone(service.url);
    resident.push(Math.round(service.process.residentMiB()));
    progress(from + count);
  }
  return resident;
}

async function openWithFew(service: MemoryService, modelUrl: string, numbers: Numbers, samples: Samples): Promise<void> {
  samples.add(startOf(service.name), 0, service.startMs);
  samples.add(residentOf(service.name, "as it is ready"), 0, service.process.residentMiB());
  await seedKnowledge(service.url);
  await seedUsers(service.url, { prefix: PREFIX, count: FEW, exchanges: 1 });
  await seedUsers(service.url, { prefix: "warm-up", count: WARM_UP_USERS, exchanges: 1 });
  await eightAtATime(numbers["warm-up"], async (index) => {
    await service.ask(questionOf("warm-up", index % WARM_UP_USERS, Math.floor(index / WARM_UP_USERS)));
  });
  await allJobsDone(service.url);
  samples.add(residentOf(service.name, afterTurns(numbers)), 0, service.process.residentMiB());
  samples.add(residentOf(service.name, "at its peak so far"), 0, service.process.peakMiB());
  for (let round = 0; round < numbers.rounds; round++) await use(service, modelUrl, FEW, round, samples);
  await allJobsDone(service.url);
  samples.add(residentOf(service.name, `with ${FEW} conversations`), 0, service.process.residentMiB());
}

async function useAll(service: MemoryService, modelUrl: string, numbers: Numbers, samples: Samples): Promise<void> {
  samples.add(residentOf(service.name, `with ${many(numbers)} conversations`), 0, service.process.residentMiB());
  for (let round = 0; round < numbers.rounds; round++) {
    await use(service, modelUrl, numbers.conversations, round, samples);
    samples.add(residentOf(service.name, `while ${many(numbers)} conversations are used`), round, service.process.residentMiB());
  }
  await allJobsDone(service.url);
}

async function run(numbers: Numbers, progress: Progress): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  const model = await startModel(opened);
  const data = await createDataFolder({ migrated: false });
  opened.defer(() => data.remove());
  const stores = await startMemoryStores(opened);
  const onPostgres = await stores.open();
  const environments = Object.entries({ PGlite: { DATA_DIR: data.folder }, Postgres: onPostgres });

  const samples = makeSamples();
  const services: MemoryService[] = [];
  for (const [name, environment] of environments) {
    // A process that creates its database keeps memory for that. Only the next one is measured.
    await (await startMemoryService(name, model.line, environment)).process.stop();
    const service = await startMemoryService(name, model.line, environment);
    opened.defer(() => service.process.stop());
    services.push(service);
    progress.step(`few conversations of ${name}`);
    await openWithFew(service, model.line, numbers, samples);
  }
  const filled = await Promise.all(
    services.map(async (service) => {
      const onProgress = (done: number): void => progress.step(`conversations of ${service.name}`, done, numbers.conversations);
      return { name: service.name, residentMiB: await fill(service, numbers.conversations, onProgress) };
    }),
  );
  for (const service of services) {
    progress.step(`all conversations of ${service.name}`);
    await useAll(service, model.line, numbers, samples);
  }

  const figures = [
    samples.figure(RAW, "ms"),
    ...environments.flatMap(([name]) => {
      const before = residentOf(name, `with ${FEW} conversations`);
      const goals = name === "PGlite" ? EMBEDDED_GOALS : POSTGRES_GOALS;
      return [
        samples.figure(startOf(name), "ms", { goal: { atMost: goals.startMs } }),
        samples.figure(residentOf(name, "as it is ready"), "MiB"),
        samples.figure(residentOf(name, afterTurns(numbers)), "MiB", { goal: { atMost: goals.residentMiB } }),
        samples.figure(residentOf(name, "at its peak so far"), "MiB"),
        samples.figure(before, "MiB"),
        samples.figure(residentOf(name, `with ${many(numbers)} conversations`), "MiB", { reference: before }),
        samples.figure(residentOf(name, `while ${many(numbers)} conversations are used`), "MiB", { reference: before }),
        samples.figure(turnOf(name, FEW), "ms", { reference: RAW }),
        samples.figure(turnOf(name, numbers.conversations), "ms", { reference: RAW }),
      ];
    }),
  ];
  const notes = [
    `Each conversation is a user's own, imported through the API with two messages and a section of core memory, and indexed; vectors of Postgres: ${stores.vectors}. "Used" are ${numbers.rounds} times ${TURNS} turns, 8 at once, of conversations spread over all, the same each time; ${numbers["warm-up"]} turns of other users have warmed the process up before the first.`,
    "PGlite's memory is that of the service's process; a real Postgres' is not in these figures.",
  ];
  return { figures, notes, filled };
}

export const resident = defineBench({
  asks: "What memory does a process take as it starts, with few conversations and with 10,000, on PGlite and on Postgres",
  minutes: { short: 2, long: 8 },
  numbers: {
    conversations: { of: "conversations, each of a user of its own", short: 500, long: 10_000 },
    rounds: { of: `rounds of ${TURNS} turns`, short: 1, long: 5 },
    "warm-up": { of: "turns before the first that counts", short: 1_000, long: 1_000 },
  },
  run,
});
