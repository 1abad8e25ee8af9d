import { defineBench } from "./support/bench.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { type Figure, figureOf, type Goal, percentile } from "./support/figures.ts";
import { startMemoryStores } from "./support/service/memory-service.ts";
import type { Progress } from "./support/progress.ts";
import type { Measured } from "./support/results.ts";
import { startModel } from "./support/start-process.ts";
import { chatOpenAI, type Contender, everyLayer, oneNode, oneNodeWithSaver, rawFetch, thisService } from "./support/turn/contenders.ts";

interface TurnRound {
  firstTokenMs: number[];
  turnMs: number[];
  cpuMsPerTurn: number;
}

interface MeasuredTurns {
  name: string;
  streams: number;
  rounds: TurnRound[];
}

type TurnGoals = Record<"over" | "turn" | "cpu", Goal>;

/** Milliseconds at p50 with one stream and every layer at work: first token over that of the raw call, turn, CPU a turn. */
const POSTGRES_GOALS: TurnGoals = { over: { atMost: 5 }, turn: { atMost: 10 }, cpu: { atMost: 9 } };
const EMBEDDED_GOALS: TurnGoals = { over: { atMost: 10 }, turn: { atMost: 15 }, cpu: { atMost: 18 } };

function turnFigures(all: readonly MeasuredTurns[], reference: string, goals: Record<string, TurnGoals>): Figure[] {
  return all.flatMap(({ name, streams, rounds }) => {
    const label = (what: string, of = name): string => `${what}, ${streams} ${streams === 1 ? "stream" : "streams"}, ${of}`;
    const isReference = name === reference;
    const own = streams === 1 ? goals[name] : undefined;
    const held = (what: keyof TurnGoals): { goal?: Goal } => (own ? { goal: own[what] } : {});
    const beside = (what: string): { reference?: string } => (isReference ? {} : { reference: label(what, reference) });
    const figures = [
      figureOf(label("first token"), "ms", rounds.map(({ firstTokenMs }) => firstTokenMs), beside("first token")), // prettier-ignore
      figureOf(label("turn"), "ms", rounds.map(({ turnMs }) => turnMs), { ...beside("turn"), ...held("turn") }), // prettier-ignore
      figureOf(label("CPU a turn"), "ms CPU", rounds.map(({ cpuMsPerTurn }) => [cpuMsPerTurn]), { ...beside("CPU a turn"), ...held("cpu") }), // prettier-ignore
    ];
    if (!name.startsWith("this service")) return figures;
    const raw = all.find((other) => other.name === reference && other.streams === streams)?.rounds ?? [];
    const over = rounds.map(({ firstTokenMs }, round) => {
      const floor = percentile(raw[round]?.firstTokenMs ?? [], 0.5);
      return firstTokenMs.map((ms) => ms - floor);
    });
    return [...figures, figureOf(label("first token over that of the raw call"), "ms", over, held("over"))];
  });
}

/** Few, so that a noisy moment of the machine hits all contenders. */
const TURNS_PER_ROUND = 20;
const WARM_UP_ROUNDS_OF_TEN = 1;
/** Enough to keep its window mostly full. */
const TURNS_PER_CONVERSATION = 20;

let nextSession = 0;

async function runTurns(contender: Contender, count: number, round: TurnRound): Promise<void> {
  let session = "";
  for (let turn = 0; turn < count; turn++) {
    if (turn % TURNS_PER_CONVERSATION === 0) session = `bench-${nextSession++}`;
    const { firstTokenMs, totalMs } = await contender.turn(session, `Turn ${turn} of ${session}: please answer with forty words.`);
    round.firstTokenMs.push(firstTokenMs);
    round.turnMs.push(totalMs);
  }
}

const emptyRound = (): TurnRound => ({ firstTokenMs: [], turnMs: [], cpuMsPerTurn: 0 });

async function runRound(contender: Contender, streams: number): Promise<TurnRound> {
  const round = emptyRound();
  const before = contender.cpuMs();
  await Promise.all(Array.from({ length: streams }, () => runTurns(contender, TURNS_PER_ROUND / (streams === 1 ? 1 : 2), round)));
  await contender.settle?.();
  return { ...round, cpuMsPerTurn: (contender.cpuMs() - before) / round.turnMs.length };
}

/** Measures all contenders round by round, after an uncounted warm-up. */
async function compare(
  contenders: Contender[],
  { streams, warmUp, rounds: count }: { streams: number; warmUp: number; rounds: number },
  progress: Progress,
): Promise<MeasuredTurns[]> {
  const measured = contenders.map((contender) => ({ contender, rounds: [] as TurnRound[] }));
  const name = `rounds with ${streams} ${streams === 1 ? "stream" : "streams"}`;
  for (let round = -warmUp; round < count; round++) {
    for (const { contender, rounds } of measured) {
      const own = await runRound(contender, streams);
      if (round >= 0) rounds.push(own);
    }
    progress.step(name, warmUp + round + 1, warmUp + count);
  }
  return measured.map(({ contender, rounds }) => ({ name: contender.name, streams, rounds }));
}

/** Milliseconds from the first token to the end, of 100 streams at 20 tokens a second that begin within 2 seconds. */
async function measureManyStreams(contenders: Contender[], progress: Progress): Promise<{ name: string; streamingMs: number[] }[]> {
  const results = [];
  for (const contender of contenders) {
    progress.step(`100 streams: ${contender.name}`);
    const times = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await sleep(index * 20);
        return contender.turn(`many-${nextSession++}`, `stream ${index}`);
      }),
    );
    results.push({ name: contender.name, streamingMs: times.map(({ firstTokenMs, totalMs }) => totalMs - firstTokenMs) });
  }
  return results;
}

const MEMORY_STEP = 200;

/** Resident memory after every 200 turns, so that its growth is seen. */
async function measureMemory(contender: Contender, turns: number, progress: Progress): Promise<Figure> {
  const resident: number[][] = [];
  for (let done = 0; done < turns; done += MEMORY_STEP) {
    await Promise.all(Array.from({ length: 4 }, () => runTurns(contender, MEMORY_STEP / 4, emptyRound())));
    resident.push([contender.service?.residentMiB() ?? 0]);
    progress.step(`memory of ${contender.name}, turns`, done + MEMORY_STEP, turns);
  }
  return figureOf(`resident memory over ${turns} turns, ${contender.name}`, "MiB", resident);
}

const NO_INDEX = { ENABLE_EPISODIC_MEMORY: "false" };

const RAW_NAME = "raw fetch";

type Numbers = Record<"rounds" | "rounds-of-ten" | "warm-up" | "memory-turns" | "paced-tokens", number>;

async function run(numbers: Numbers, progress: Progress): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  const keep = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    opened.defer(() => part.close());
    return part;
  };
  progress.step("starting the services");
  const stores = await startMemoryStores(opened);
  const [fast, paced] = [await startModel(opened), await startModel(opened, numbers["paced-tokens"], 50)];
  const onPostgres = { DATABASE_URL: stores.databaseUrl, ...NO_INDEX };
  const everyLayerOn = async (database: string, environment: Record<string, string>) =>
    keep(await everyLayer(`this service with every layer at work, ${database}`, fast.line, environment));
  const onPglite = await everyLayerOn("PGlite", { DATA_DIR: "memory://" });
  const onVectors = await everyLayerOn(`Postgres with ${stores.vectors}`, await stores.open());
  const withMilvus = await stores.openWithMilvus();
  const layered = [onPglite, onVectors, ...(withMilvus ? [await everyLayerOn(stores.withMilvus, withMilvus)] : [])];
  const contenders = [
    rawFetch(fast.line),
    chatOpenAI(fast.line),
    oneNode(fast.line),
    keep(await oneNodeWithSaver(fast.line, stores.databaseUrl)),
    keep(await thisService("this service over HTTP, PGlite", fast.line, { DATA_DIR: "memory://" })),
    keep(await thisService("this service over HTTP, Postgres", fast.line, onPostgres)),
    ...layered,
  ];
  const measured = [
    ...(await compare(contenders, { streams: 1, warmUp: numbers["warm-up"], rounds: numbers.rounds }, progress)),
    ...(await compare(contenders, { streams: 10, warmUp: WARM_UP_ROUNDS_OF_TEN, rounds: numbers["rounds-of-ten"] }, progress)),
  ];
  const memory: Figure[] = [];
  for (const contender of contenders.filter(({ service }) => service))
    memory.push(await measureMemory(contender, numbers["memory-turns"], progress));
  const manyStreams = await measureManyStreams(
    [
      rawFetch(paced.line),
      keep(await thisService("this service over HTTP, PGlite", paced.line, { DATA_DIR: "memory://" })),
      keep(await thisService("this service over HTTP, Postgres", paced.line, onPostgres)),
    ],
    progress,
  );

  const streaming = (name: string): string =>
    `first token to end, 100 streams of ${numbers["paced-tokens"]} tokens at 20 a second, ${name}`;
  const figures = [
    ...turnFigures(measured, RAW_NAME, { [onPglite.name]: EMBEDDED_GOALS, [onVectors.name]: POSTGRES_GOALS }),
    ...manyStreams.map(({ name, streamingMs }) =>
      figureOf(streaming(name), "ms", [streamingMs], name === RAW_NAME ? {} : { reference: streaming(RAW_NAME) }),
    ),
    ...memory,
  ];
  const notes = [
    `The model answers with 40 tokens and waits for nothing; the contenders in turn, ${numbers.rounds} rounds. With one stream a round is ${TURNS_PER_ROUND} turns of each, after ${numbers["warm-up"]} that warm up; with ten there are ${numbers["rounds-of-ten"]}, each of ${TURNS_PER_ROUND / 2} turns of each stream. The embedder is the built-in one.`,
    "CPU is that of the process that does the work with the jobs that its turns leave; embedded PGlite works in the service's process, Postgres and Milvus do not.",
    ...layered.map(({ name, layers }) => `${name}: ${layers.tell()}`),
  ];
  return { figures, notes };
}

export const turn = defineBench({
  asks: "What does a turn cost over the raw call of the model, in time, CPU and memory",
  minutes: { short: 2, long: 9 },
  numbers: {
    rounds: { of: `rounds of ${TURNS_PER_ROUND} turns, one stream`, short: 4, long: 25 },
    "rounds-of-ten": { of: `rounds of ${TURNS_PER_ROUND / 2} turns, ten streams`, short: 1, long: 25 },
    // 1,000 turns: until then V8 is still compiling, and a turn costs up to twice as much.
    "warm-up": { of: "rounds before the first that counts", short: 5, long: 50 },
    "memory-turns": { of: "turns over which resident memory is read", short: 200, long: 2_000 },
    "paced-tokens": { of: "tokens of each of 100 streams at 20 tokens a second", short: 40, long: 200 },
  },
  run,
});
