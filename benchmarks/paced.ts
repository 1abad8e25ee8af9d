import { setTimeout as sleep } from "node:timers/promises";
import { openLoadContenders, RAW, streamsOf, type LoadContender } from "./support/load/load-contenders.ts";
import { printFigures } from "./support/print-figures.ts";
import type { Progress } from "./support/progress.ts";
import { makeSamples, type Samples } from "./support/samples.ts";
import { startProcess } from "./support/start-process.ts";
import { writeResults } from "./support/write-results.ts";

const MOST_STREAMS = Number(process.env["BENCH_STREAMS"] ?? 500);
const LEVELS = [1, 100, 500].filter((streams) => streams <= MOST_STREAMS);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 2);
const TOKENS = 200;
const BETWEEN_MS = 50;
/** Streams begin one after another, this far apart; all 500 are under way before the first one can end. */
const BEGIN_EVERY_MS = 16;
const WARM_UP_STREAMS = Math.min(50, MOST_STREAMS);

const lag = (streams: number, name: string): string => `end later than the pace, ${streamsOf(streams)}, ${name}`;
const firstToken = (streams: number, name: string): string => `first token, ${streamsOf(streams)}, ${name}`;
const failures = (streams: number, name: string): string => `turns without an answer, ${streamsOf(streams)}, ${name}`;

/** Streams of one contender that are open at once: how much later than the model's pace each one ends. */
async function runCell(contender: LoadContender, streams: number, round: number, samples: Samples): Promise<void> {
  const { name } = contender;
  let failed = 0;
  const stream = async (index: number): Promise<void> => {
    await sleep(index * BEGIN_EVERY_MS);
    try {
      const { firstTokenMs, totalMs } = await contender.turn(index, round);
      samples.add(firstToken(streams, name), round, firstTokenMs);
      samples.add(lag(streams, name), round, totalMs - firstTokenMs - (TOKENS - 1) * BETWEEN_MS);
    } catch (error) {
      if (failed++ === 0) process.stderr.write(`\n${name}, ${streamsOf(streams)}: a turn failed: ${String(error)}\n`);
    }
  };
  await Promise.all(Array.from({ length: streams }, (_, index) => stream(index)));
  samples.add(failures(streams, name), round, failed);
  await contender.settle();
}

/** Whether 1, 100 and 500 streams of a model that writes 20 tokens a second end when they should, on one process and on two. */
export async function benchPaced(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const args = [String(TOKENS), String(BETWEEN_MS)];
  const model = await startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args });
  opened.defer(() => model.stop());
  const { contenders, stores } = await openLoadContenders(model.line, MOST_STREAMS, opened, progress);

  progress.step("warm-up");
  await Promise.all(contenders.map((contender) => runCell(contender, WARM_UP_STREAMS, 0, makeSamples())));

  const samples = makeSamples();
  const cells = Array.from({ length: ROUNDS }, (_, round) => LEVELS.map((streams) => ({ round, streams }))).flat();
  for (const [index, { round, streams }] of cells.entries()) {
    progress.step("levels of streams", index, cells.length);
    const cell = (contender: LoadContender): Promise<void> => runCell(contender, streams, round, samples);
    for (const contender of contenders) await cell(contender);
  }

  const figures = LEVELS.flatMap((streams) =>
    contenders.flatMap(({ name }) => {
      const reference = (of: string) => (name === RAW ? {} : { reference: of });
      const answered = samples.runs(lag(streams, name)).length > 0;
      return [
        ...(answered
          ? [
              samples.figure(lag(streams, name), "ms", reference(lag(streams, RAW))),
              samples.figure(firstToken(streams, name), "ms", reference(firstToken(streams, RAW))),
            ]
          : []),
        samples.figure(failures(streams, name), "turns", { goal: { atMost: 0, of: "p99" } }),
      ];
    }),
  );
  const notes = [
    `Each answer has ${TOKENS} tokens, ${BETWEEN_MS} ms apart as the model's server sends them. "Later than the pace" is the time from the first token to the end, less ${((TOKENS - 1) * BETWEEN_MS).toLocaleString("en")} ms: what the raw call has of it is the model server's own.`,
    `Streams begin ${BEGIN_EVERY_MS} ms apart. Every stream has a user of its own with every layer of memory at work; index beside Postgres: ${stores.index}. Load, model, stores and service share the cores.`,
    ...contenders.filter(({ services }) => services.length > 0).map(({ name, layers }) => `${name}: ${layers.tell()}`),
  ];
  printFigures(figures, notes);
  await writeResults("paced", { figures, notes });
}
