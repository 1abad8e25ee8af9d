import { type LoadContender, openLoadContenders, RAW, streamsOf } from "./support/load/load-contenders.ts";
import { type Plot, printFigures, writeResults } from "./support/results.ts";
import type { Progress } from "./support/progress.ts";
import { makeSamples, percentile, type Samples } from "./support/figures.ts";
import { startProcess } from "./support/start-process.ts";

const MOST_STREAMS = Number(process.env["BENCH_STREAMS"] ?? 500);
const LEVELS = [1, 2, 5, 10, 20, 50, 100, 200, 500].filter((streams) => streams <= MOST_STREAMS);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 3);
/** From here on one turn of every stream takes seconds, and two rounds do. */
const MANY_STREAMS = 100;
const ROUNDS_OF_MANY = 2;
/** A stream begins its next turn until this has passed; each has one at least. */
const CELL_MS = 1_200;
const WARM_UP_TURNS = 300;
const WARM_UP_STREAMS = 10;

const times = (what: "first token" | "turn", streams: number, name: string): string => `${what}, ${streamsOf(streams)}, ${name}`;
const throughput = (streams: number, name: string): string => `turns a second, ${streamsOf(streams)}, ${name}`;
const failures = (streams: number, name: string): string => `turns without an answer, ${streamsOf(streams)}, ${name}`;

/** Streams that each have one turn after another, until the time is over. */
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

async function warmUp(contender: LoadContender): Promise<void> {
  const perStream = WARM_UP_TURNS / WARM_UP_STREAMS;
  const stream = async (index: number): Promise<void> => {
    for (let turn = 0; turn < perStream; turn++) await contender.turn(index, turn);
  };
  await Promise.all(Array.from({ length: WARM_UP_STREAMS }, (_, index) => stream(index)));
  await contender.settle();
}

/** A line for each contender over the levels, of the medians of what `figureName` names. */
function plotOf(samples: Samples, contenders: readonly LoadContender[], title: string, unit: string, figureName: typeof throughput): Plot {
  const medianOf = (name: string): number | null => {
    const values = samples.runs(name).flat();
    return values.length === 0 ? null : percentile(values, 0.5);
  };
  return {
    title,
    x: { label: "streams at once", values: LEVELS },
    y: { label: title, unit },
    log: "both",
    series: contenders.map(({ name }) => ({ name, values: LEVELS.map((streams) => medianOf(figureName(streams, name))) })),
  };
}

/** Turns a second, first token and whole turn with 1 to 500 streams at once, on one process and on two, beside the raw call of the model. */
export async function benchLoad(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const model = await startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args: ["40", "0"] });
  opened.defer(() => model.stop());
  const { contenders, stores } = await openLoadContenders(model.line, MOST_STREAMS, opened, progress);
  for (const contender of contenders) {
    progress.step(`warm-up: ${contender.name}`);
    await warmUp(contender);
  }

  const samples = makeSamples();
  const cells = Array.from({ length: ROUNDS }, (_, round) => round).flatMap((round) =>
    LEVELS.filter((streams) => streams < MANY_STREAMS || round < ROUNDS_OF_MANY).map((streams) => ({ round, streams })),
  );
  for (const [index, { round, streams }] of cells.entries()) {
    progress.step("levels of load", index, cells.length);
    for (const contender of contenders) await runCell(contender, streams, round, samples);
  }

  const figures = LEVELS.flatMap((streams) =>
    contenders.flatMap(({ name }) => {
      const reference = (of: string) => (name === RAW ? {} : { reference: of });
      const answered = samples.runs(times("turn", streams, name)).length > 0;
      return [
        ...(answered
          ? [
              samples.figure(times("first token", streams, name), "ms", reference(times("first token", streams, RAW))),
              samples.figure(times("turn", streams, name), "ms", reference(times("turn", streams, RAW))),
            ]
          : []),
        samples.figure(throughput(streams, name), "turns/s", reference(throughput(streams, RAW))),
        samples.figure(failures(streams, name), "turns", { goal: { atMost: 0, of: "p99" } }),
      ];
    }),
  );
  const plots = [
    plotOf(samples, contenders, "Turns a second", "turns/s", throughput),
    plotOf(samples, contenders, "First token", "ms", (streams, name) => times("first token", streams, name)),
    plotOf(samples, contenders, "Turn", "ms", (streams, name) => times("turn", streams, name)),
  ];
  const notes = [
    "Load, model, Postgres, index and service are processes of their own that share the cores: with two cores, two service processes cannot be twice as fast as one.",
    `Every stream has a user of its own with a summarised conversation, core memory and documents; index beside Postgres: ${stores.index}. A stream begins its next turn as soon as the one before has ended; jobs are done before the next level.`,
    ...contenders.filter(({ services }) => services.length > 0).map(({ name, layers }) => `${name}: ${layers.tell()}`),
  ];
  printFigures(figures, notes);
  await writeResults("load", { figures, plots, notes });
}
