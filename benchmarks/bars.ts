import { createDataFolder } from "../test/servers/data-folder.ts";
import { rawFetch } from "./support/turn-contenders.ts";
import { makeLayersAtWork } from "./support/load/layers-at-work.ts";
import { machineMs } from "./support/machine-ms.ts";
import { startMemoryService, type AskedTurn, type MemoryService } from "./support/load/memory-service.ts";
import { allJobsDone, questionOf, seedKnowledge, seedUsers } from "./support/load/memory-users.ts";
import { printFigures } from "./support/print-figures.ts";
import type { Progress } from "./support/progress.ts";
import { makeSamples, type Samples } from "./support/samples.ts";
import { startProcess } from "./support/start-process.ts";
import { writeResults } from "./support/write-results.ts";

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 10);
const MODEL_MS = 200;
const USERS = 10;
/** In a round: turns one after another, and times that all users ask at once. */
const TURNS = 10;
const VOLLEYS = 5;
/** Until V8 has compiled what a turn needs. */
const WARM_UP_TURNS = 30;
const CONVERSATIONS = 100;
const TURNS_OF_CONVERSATION = 5;

const NAMES = ["one at a time", "10 at once"] as const;
type Name = (typeof NAMES)[number];

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Milliseconds from the request to the moment at which the model's server had read the call for its answer. */
function assemblyMs(sentAt: number, { result }: AskedTurn): number {
  const [, at] = /at ([\d.]+)/.exec(result.answer) ?? [];
  if (at === undefined) throw new Error(`the answer has no stamp: ${result.answer}`);
  return Number(at) - sentAt;
}

interface Parts {
  service: MemoryService;
  modelUrl: string;
  samples: Samples;
  layers: ReturnType<typeof makeLayersAtWork>;
}

/** One turn of a user. */
async function measureTurn({ service, samples, layers }: Parts, name: Name, round: number, user: number, turn: number): Promise<void> {
  const sentAt = machineMs();
  const asked = await service.ask(questionOf("bars", user, turn));
  layers.count(asked.result);
  samples.add(`answer, ${name}`, round, asked.totalMs);
  samples.add(`first token, ${name}`, round, asked.firstTokenMs);
  samples.add(`context assembly, ${name}: request sent to model called`, round, assemblyMs(sentAt, asked));
  samples.add(`context assembly, ${name}: by the turn's own clock`, round, asked.result.timings.started["generate_rag"] ?? Number.NaN);
}

async function measureRaw({ modelUrl, samples }: Parts, name: Name, round: number): Promise<void> {
  const { firstTokenMs, totalMs } = await rawFetch(modelUrl).turn("", "Please answer with forty words.");
  samples.add(`raw model call, ${name}`, round, totalMs);
  samples.add(`first token of the raw call, ${name}`, round, firstTokenMs);
}

async function runRound(parts: Parts, round: number): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) {
    await measureRaw(parts, "one at a time", round);
    await measureTurn(parts, "one at a time", round, turn % USERS, round + turn);
  }
  for (let volley = 0; volley < VOLLEYS; volley++) {
    const atOnce = (work: (user: number) => Promise<void>) => Promise.all(Array.from({ length: USERS }, (_, user) => work(user)));
    await atOnce(() => measureRaw(parts, "10 at once", round));
    await atOnce((user) => measureTurn(parts, "10 at once", round, user, round + volley));
  }
}

/** Starts a service on a data folder that is there already: making one takes memory that no later start has. */
async function openService(modelUrl: string, opened: AsyncDisposableStack): Promise<MemoryService> {
  const data = await createDataFolder({ migrated: false });
  opened.defer(() => data.remove());
  const start = (): Promise<MemoryService> =>
    startMemoryService("this service, PGlite", modelUrl, { DATA_DIR: data.folder, SUMMARY_MODEL: "bench", MEMORY_MODEL: "bench" });
  await (await start()).process.stop();
  const service = await start();
  opened.defer(() => service.process.stop());
  return service;
}

/** 100 conversations with a process of their own, 10 at a time: what its resident memory grows by, twice. */
async function measureMemory(modelUrl: string, samples: Samples, round: number): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const service = await openService(modelUrl, opened);
  const resident = [service.process.residentMiB()];
  for (const batch of ["first", "second"]) {
    const perUser = CONVERSATIONS / USERS;
    const converse = async (user: number): Promise<void> => {
      for (let turn = 0; turn < perUser * TURNS_OF_CONVERSATION; turn++) {
        await service.ask({ ...questionOf("memory", user, turn), session: `${batch}-${turn % perUser}` });
      }
    };
    await Promise.all(Array.from({ length: USERS }, (_, user) => converse(user)));
    await allJobsDone(service.url);
    resident.push(service.process.residentMiB());
  }
  const [listening = 0, first = 0, second = 0] = resident;
  samples.add("resident memory as it begins to listen", round, listening);
  samples.add("growth by 100 conversations, from there", round, first - listening);
  samples.add("growth by 100 more", round, second - first);
  samples.add("resident memory after 100 conversations", round, first);
}

/** The design's first bars, with every layer of memory on. */
export async function benchBars(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const args = ["40", "0", String(MODEL_MS), "stamped"];
  const model = await startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args });
  opened.defer(() => model.stop());
  const service = await openService(model.line, opened);
  progress.step("seeding");
  await seedKnowledge(service.url);
  await seedUsers(service.url, { prefix: "bars", count: USERS, exchanges: 20 });
  await allJobsDone(service.url);

  const samples = makeSamples();
  const layers = makeLayersAtWork();
  for (let turn = 0; turn < WARM_UP_TURNS; turn++) {
    await Promise.all(Array.from({ length: USERS }, (_, user) => service.ask(questionOf("bars", user, turn))));
    progress.step("warm-up", turn + 1, WARM_UP_TURNS);
  }
  for (let round = 0; round < ROUNDS; round++) {
    await runRound({ service, modelUrl: model.line, samples, layers }, round);
    progress.step("round", round + 1, ROUNDS);
  }
  const memoryRounds = Math.min(ROUNDS, 2);
  for (let round = 0; round < memoryRounds; round++) {
    progress.step("memory of 100 conversations", round, memoryRounds);
    await measureMemory(model.line, samples, round);
  }

  for (const name of NAMES)
    samples.runs(`answer, ${name}`).forEach((values, round) => samples.add(`average answer, ${name}`, round, mean(values)));
  const ofTurns = NAMES.flatMap((name) => {
    const goal = { atMost: name === "one at a time" ? 500 : 600 };
    const raw = { reference: `raw model call, ${name}` };
    return [
      samples.figure(`raw model call, ${name}`, "ms"),
      samples.figure(`answer, ${name}`, "ms", raw),
      samples.figure(`average answer, ${name}`, "ms", { ...raw, goal }),
      samples.figure(`first token of the raw call, ${name}`, "ms"),
      samples.figure(`first token, ${name}`, "ms", { reference: `first token of the raw call, ${name}` }),
      samples.figure(`context assembly, ${name}: request sent to model called`, "ms", { ...raw, goal: { atMost: 100 } }),
      samples.figure(`context assembly, ${name}: by the turn's own clock`, "ms", { ...raw, goal: { atMost: 100 } }),
    ];
  });
  const figures = [
    ...ofTurns,
    samples.figure("resident memory as it begins to listen", "MiB"),
    samples.figure("growth by 100 conversations, from there", "MiB", {
      reference: "resident memory as it begins to listen",
      goal: { atMost: 200 },
    }),
    samples.figure("growth by 100 more", "MiB", { reference: "growth by 100 conversations, from there" }),
    samples.figure("resident memory after 100 conversations", "MiB", { goal: { atMost: 200 } }),
  ];
  const notes = [
    `The model's server says nothing for ${MODEL_MS} ms, then 40 words at once. Model, service with embedded PGlite on a data folder, and load are processes of their own on the same cores.`,
    `${USERS} users with a summarised conversation, core memory and a knowledge base of one document. ${layers.tell()}`,
    "An average is one value a round. Context assembly ends when the model's server has read the whole call, or, by the turn's own clock, when the node begins that calls the model.",
    `Memory is the resident set of a fresh service process with ${CONVERSATIONS} conversations of ${TURNS_OF_CONVERSATION} turns, 10 at a time, jobs done; its growth holds the code that the first turns compile and the caches of PGlite.`,
  ];
  printFigures(figures, notes);
  await writeResults("bars", { figures, notes });
}
