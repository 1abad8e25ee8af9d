import { defineBench } from "./support/bench.ts";
import { measureOverload } from "./support/load/overload.ts";
import type { Progress } from "./support/progress.ts";
import { type Figure, makeSamples, type Samples } from "./support/figures.ts";
import { startModel } from "./support/start-process.ts";
import { rawFetch } from "./support/turn/contenders.ts";
import {
  askService,
  type LayersAtWork,
  makeLayersAtWork,
  type MemoryService,
  type MemoryStores,
  startMemoryService,
  startMemoryStores,
} from "./support/service/memory-service.ts";
import { allJobsDone, questionOf, seedKnowledge, seedUsers } from "./support/service/memory-users.ts";
import type { StreamTimes } from "./support/read-stream.ts";

interface LoadContender {
  name: string;
  turn(stream: number, turn: number): Promise<StreamTimes>;
  services: readonly MemoryService[];
  layers: LayersAtWork;
  settle(): Promise<void>;
}

const RAW = "raw model call";
const streamsOf = (streams: number): string => (streams === 1 ? "1 stream" : `${streams} streams`);
const PREFIX = "load";
const EXCHANGES = 8;

function rawContender(modelUrl: string): LoadContender {
  const raw = rawFetch(modelUrl);
  return {
    name: RAW,
    turn: (stream) => raw.turn("", `Stream ${stream}: please answer with forty words.`),
    services: [],
    layers: makeLayersAtWork(),
    settle: async () => undefined,
  };
}

function serviceContender(name: string, services: readonly MemoryService[]): LoadContender {
  const layers = makeLayersAtWork();
  const urls = services.map(({ url }) => url);
  return {
    name,
    async turn(stream, turn) {
      const asked = await askService(urls[stream % urls.length] ?? "", questionOf(PREFIX, stream, turn));
      layers.count(asked.result);
      return asked;
    },
    services,
    layers,
    settle: async () => void (await allJobsDone(urls[0] ?? "")),
  };
}

/**
 * The raw model call, this service on PGlite and on a real Postgres, and two processes that share another; each with `streams` users who
 * have a history.
 */
async function openLoadContenders(
  modelUrl: string,
  streams: number,
  opened: AsyncDisposableStack,
  progress: Progress,
): Promise<{ contenders: LoadContender[]; stores: MemoryStores }> {
  const stores = await startMemoryStores(opened);
  const start = async (name: string, environments: Record<string, string>[]): Promise<LoadContender> => {
    const services: MemoryService[] = [];
    for (const environment of environments) {
      const service = await startMemoryService(name, modelUrl, environment);
      opened.defer(() => service.process.stop());
      services.push(service);
    }
    return serviceContender(name, services);
  };
  const shared = await stores.open();
  const contenders = [
    await start("one process, PGlite", [{ DATA_DIR: "memory://" }]),
    await start("one process, Postgres", [await stores.open()]),
    await start("two processes, Postgres", [shared, shared]),
  ];
  progress.step(`bringing in ${streams} users for each`);
  await Promise.all(
    contenders.map(async (contender) => {
      const url = contender.services[0]?.url ?? "";
      await seedKnowledge(url);
      await seedUsers(url, { prefix: PREFIX, count: streams, exchanges: EXCHANGES });
      await contender.settle();
    }),
  );
  return { contenders: [rawContender(modelUrl), ...contenders], stores };
}

const LEVELS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/** From here a turn takes seconds, and two rounds are enough. */
const MANY_STREAMS = 100;
const ROUNDS_OF_MANY = 2;
const CELL_MS = 1_200;
const WARM_UP_STREAMS = 10;

const times = (what: "first token" | "turn", streams: number, name: string): string => `${what}, ${streamsOf(streams)}, ${name}`;
const throughput = (streams: number, name: string): string => `turns a second, ${streamsOf(streams)}, ${name}`;
const failures = (streams: number, name: string): string => `turns without an answer, ${streamsOf(streams)}, ${name}`;

async function runCell(contender: LoadContender, streams: number, round: number, samples: Samples): Promise<void> {
  const { name } = contender;
  const began = performance.now();
  const reasons: string[] = [];
  let answered = 0;
  const stream = async (index: number): Promise<void> => {
    for (let turn = round; turn === round || performance.now() - began < CELL_MS; turn++) {
      try {
        const { firstTokenMs, totalMs } = await contender.turn(index, turn);
        samples.add(times("first token", streams, name), round, firstTokenMs);
        samples.add(times("turn", streams, name), round, totalMs);
        answered++;
      } catch (error) {
        reasons.push(String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: streams }, (_, index) => stream(index)));
  samples.add(throughput(streams, name), round, answered / ((performance.now() - began) / 1_000));
  samples.add(failures(streams, name), round, reasons.length);
  if (reasons.length > 0) process.stderr.write(`\n${name}, ${streamsOf(streams)}: ${reasons.length} turns failed, as with ${reasons[0]}\n`);
  await contender.settle();
}

async function warmUp(contender: LoadContender, turns: number): Promise<void> {
  const perStream = turns / WARM_UP_STREAMS;
  const stream = async (index: number): Promise<void> => {
    for (let turn = 0; turn < perStream; turn++) await contender.turn(index, turn);
  };
  await Promise.all(Array.from({ length: WARM_UP_STREAMS }, (_, index) => stream(index)));
  await contender.settle();
}

type Found = { figures: Figure[]; notes: string[] };
type Numbers = Record<"streams" | "rounds" | "warm-up" | "places" | "offered" | "tokens" | "overload-rounds", number>;

async function measureLevels({ streams: most, rounds, "warm-up": warmUpTurns }: Numbers, progress: Progress): Promise<Found> {
  const levels = LEVELS.filter((streams) => streams <= most);
  await using opened = new AsyncDisposableStack();
  const model = await startModel(opened);
  const { contenders, stores } = await openLoadContenders(model.line, Math.max(most, WARM_UP_STREAMS), opened, progress);
  for (const contender of contenders) {
    progress.step(`warm-up: ${contender.name}`);
    await warmUp(contender, warmUpTurns);
  }

  const samples = makeSamples();
  const cells = Array.from({ length: rounds }, (_, round) => round).flatMap((round) =>
    levels.filter((streams) => streams < MANY_STREAMS || round < ROUNDS_OF_MANY).map((streams) => ({ round, streams })),
  );
  for (const [index, { round, streams }] of cells.entries()) {
    progress.step("levels of load", index, cells.length);
    for (const contender of contenders) await runCell(contender, streams, round, samples);
  }

  const figures = levels.flatMap((streams) =>
    contenders.flatMap(({ name }) => {
      const reference = (of: string) => (name === RAW ? {} : { reference: of });
      const answered = samples.runs(times("turn", streams, name)).length > 0 ? (["first token", "turn"] as const) : [];
      return [
        ...answered.map((what) => samples.figure(times(what, streams, name), "ms", reference(times(what, streams, RAW)))),
        samples.figure(throughput(streams, name), "turns/s", reference(throughput(streams, RAW))),
        samples.figure(failures(streams, name), "turns", { goal: { atMost: 0, of: "p99" } }),
      ];
    }),
  );
  const notes = [
    "Load, model, Postgres and service are processes of their own that share the cores: with two cores, two service processes cannot be twice as fast as one.",
    `Every stream has a user of its own with a summarised conversation, core memory and documents; vectors of Postgres: ${stores.vectors}. A stream begins its next turn as soon as the one before has ended; jobs are done before the next level.`,
    ...contenders.filter(({ services }) => services.length > 0).map(({ name, layers }) => `${name}: ${layers.tell()}`),
  ];
  return { figures, notes };
}

async function run(numbers: Numbers, progress: Progress): Promise<Found> {
  const levels = await measureLevels(numbers, progress);
  const { places: limit, offered, tokens, "overload-rounds": rounds } = numbers;
  const overload = await measureOverload({ limit, offered, tokens, rounds }, progress);
  return { figures: [...levels.figures, ...overload.figures], notes: [...levels.notes, ...overload.notes] };
}

export const load = defineBench({
  asks: "What do many streams at once get, up to 500, and what becomes of more than a process has places for",
  minutes: { short: 2, long: 12 },
  numbers: {
    streams: { of: "streams at once, at most", short: 20, long: 500 },
    rounds: { of: "rounds of each level", short: 1, long: 3 },
    "warm-up": { of: "turns of each contender before the first that counts", short: 100, long: 300 },
    places: { of: "places for turns, of the part on overload", short: 100, long: 100 },
    offered: { of: "streams that are offered to them", short: 400, long: 400 },
    tokens: { of: "tokens of each of those answers", short: 2_000, long: 2_000 },
    "overload-rounds": { of: "times that they are offered", short: 1, long: 3 },
  },
  run,
});
