import { createDataFolder } from "../test/servers/data-folder.ts";
import { type MemoryService, startMemoryService } from "./support/load/memory-service.ts";
import { startMemoryStores } from "./support/load/memory-stores.ts";
import { allJobsDone, eightAtATime, questionOf, seedKnowledge, seedUsers } from "./support/load/memory-users.ts";
import { printFigures, writeResults } from "./support/results.ts";
import type { Progress } from "./support/progress.ts";
import { makeSamples, type Samples } from "./support/figures.ts";
import { startProcess } from "./support/start-process.ts";
import { rawFetch } from "./support/turn-contenders.ts";

const CONVERSATIONS = Number(process.env["BENCH_CONVERSATIONS"] ?? 10_000);
const TURNS = 60;
/** What is there while it is measured how it was before: as many as are asked in a round. */
const FEW = TURNS;
/** Others, which warm the process up: the first turns cost twice as much. */
const WARM_UP_USERS = 40;
const WARM_UP_TURNS = 600;
/** Conversations between two looks at the memory. */
const STEP = Math.max(1, Math.round(CONVERSATIONS / 10));
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);
const PREFIX = "resident";
const RAW = "raw model call, 8 at once";

const many = CONVERSATIONS.toLocaleString("en");
const residentOf = (name: string, when: string): string => `resident memory ${when}, ${name}`;
const turnOf = (name: string, conversations: number): string =>
  `turn, 8 at once, ${conversations.toLocaleString("en")} conversations, ${name}`;

/** Turns of conversations spread over all that there are, each once and the same in every round, and raw calls beside them. */
async function use(service: MemoryService, modelUrl: string, conversations: number, round: number, samples: Samples): Promise<void> {
  const raw = rawFetch(modelUrl);
  await eightAtATime(TURNS, async () => samples.add(RAW, round, (await raw.turn("", "Please answer with forty words.")).totalMs));
  await eightAtATime(TURNS, async (index) => {
    const user = index * Math.max(1, Math.floor(conversations / TURNS));
    const { totalMs } = await service.ask(questionOf(PREFIX, user, round));
    samples.add(turnOf(service.name, conversations), round, totalMs);
  });
}

/** Brings the conversations in through the API, a tenth at a time; what the memory is behind each, jobs done. */
async function fill(service: MemoryService, progress: (done: number) => void): Promise<number[]> {
  const resident: number[] = [];
  for (let from = FEW; from < CONVERSATIONS; from += STEP) {
    const count = Math.min(STEP, CONVERSATIONS - from);
    await seedUsers(service.url, { prefix: PREFIX, from, count, exchanges: 1 });
    await allJobsDone(service.url);
    resident.push(Math.round(service.process.residentMiB()));
    progress(from + count);
  }
  return resident;
}

/** A service with a few conversations, warm. */
async function openWithFew(service: MemoryService, modelUrl: string, samples: Samples): Promise<void> {
  samples.add(residentOf(service.name, "as it begins to listen"), 0, service.process.residentMiB());
  await seedKnowledge(service.url);
  await seedUsers(service.url, { prefix: PREFIX, count: FEW, exchanges: 1 });
  await seedUsers(service.url, { prefix: "warm-up", count: WARM_UP_USERS, exchanges: 1 });
  await eightAtATime(WARM_UP_TURNS, async (index) => {
    await service.ask(questionOf("warm-up", index % WARM_UP_USERS, Math.floor(index / WARM_UP_USERS)));
  });
  await allJobsDone(service.url);
  for (let round = 0; round < ROUNDS; round++) await use(service, modelUrl, FEW, round, samples);
  await allJobsDone(service.url);
  samples.add(residentOf(service.name, `with ${FEW} conversations`), 0, service.process.residentMiB());
}

async function useAll(service: MemoryService, modelUrl: string, samples: Samples): Promise<void> {
  samples.add(residentOf(service.name, `with ${many} conversations`), 0, service.process.residentMiB());
  for (let round = 0; round < ROUNDS; round++) {
    await use(service, modelUrl, CONVERSATIONS, round, samples);
    samples.add(residentOf(service.name, `while ${many} conversations are used`), round, service.process.residentMiB());
  }
  await allJobsDone(service.url);
}

/** What 10,000 conversations are to the memory of a service process, on PGlite and on a real Postgres. */
export async function benchResident(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const model = await startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args: ["40", "0"] });
  opened.defer(() => model.stop());
  const data = await createDataFolder({ migrated: false });
  opened.defer(() => data.remove());
  const stores = await startMemoryStores(opened);
  const onPostgres = await stores.open();
  const environments = Object.entries({ PGlite: { DATA_DIR: data.folder }, Postgres: onPostgres });

  const samples = makeSamples();
  const services: MemoryService[] = [];
  for (const [name, environment] of environments) {
    // A process that has made its database first keeps memory that no later one has.
    await (await startMemoryService(name, model.line, environment)).process.stop();
    const service = await startMemoryService(name, model.line, environment);
    opened.defer(() => service.process.stop());
    services.push(service);
    progress.step(`few conversations of ${name}`);
    await openWithFew(service, model.line, samples);
  }
  const filled = await Promise.all(
    services.map(async (service) => {
      const onProgress = (done: number): void => progress.step(`conversations of ${service.name}`, done, CONVERSATIONS);
      return { name: service.name, residentMiB: await fill(service, onProgress) };
    }),
  );
  for (const service of services) {
    progress.step(`all conversations of ${service.name}`);
    await useAll(service, model.line, samples);
  }

  const figures = [
    samples.figure(RAW, "ms"),
    ...environments.flatMap(([name]) => {
      const before = residentOf(name, `with ${FEW} conversations`);
      return [
        samples.figure(residentOf(name, "as it begins to listen"), "MiB"),
        samples.figure(before, "MiB"),
        samples.figure(residentOf(name, `with ${many} conversations`), "MiB", { reference: before }),
        samples.figure(residentOf(name, `while ${many} conversations are used`), "MiB", { reference: before }),
        samples.figure(turnOf(name, FEW), "ms", { reference: RAW }),
        samples.figure(turnOf(name, CONVERSATIONS), "ms", { reference: RAW }),
      ];
    }),
  ];
  const longest = filled[0]?.residentMiB ?? [];
  const plots = [
    {
      title: "Resident memory while conversations are brought in",
      x: { label: "conversations", values: longest.map((_, index) => Math.min(CONVERSATIONS, FEW + (index + 1) * STEP)) },
      y: { label: "resident memory", unit: "MiB" },
      series: filled.map(({ name, residentMiB }) => ({ name, values: residentMiB })),
    },
  ];
  const notes = [
    `Each conversation is a user's own, imported through the API with two messages and a section of core memory, and indexed; index beside Postgres: ${stores.index}. "Used" are ${ROUNDS} times ${TURNS} turns, 8 at once, of conversations spread over all, the same each time; ${WARM_UP_TURNS} turns of other users have warmed the process up before the first.`,
    "PGlite's memory is that of the service's process; a real Postgres' and the index' are not in these figures.",
  ];
  printFigures(figures, notes);
  await writeResults("resident", { figures, plots, notes });
}
