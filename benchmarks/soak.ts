import { setTimeout as sleep } from "node:timers/promises";
import { sendAllOnceMore, waitForJobs } from "../test/hard/chaos/chaos-settle.ts";
import { makeSeededRandom } from "../test/support/samples/seeded-random.ts";
import { figureOf, type Figure } from "./support/figures.ts";
import { printFigures } from "./support/print-figures.ts";
import type { Progress } from "./support/progress.ts";
import { readStream } from "./support/read-stream.ts";
import { findSoakWrongs } from "./support/soak/checks.ts";
import { playFaults } from "./support/soak/faults.ts";
import { addTime, figuresOf, latencies, plotsOf, RAW_FIRST_TOKEN, RAW_TURN, type Timings } from "./support/soak/figures.ts";
import { growthOfProcesses, growthOfTables, type Growth } from "./support/soak/growth.ts";
import { watchSoak } from "./support/soak/samples.ts";
import { LEASE_MS, openSoakStage } from "./support/soak/stage.ts";
import { useService } from "./support/soak/users.ts";
import { writeResults } from "./support/write-results.ts";

const MINUTES = Number(process.env["SOAK_MINUTES"] ?? 30);
const SEED = Number(process.env["SOAK_SEED"] ?? Date.now() % 1_000_000);
const MINUTE_MS = 60_000;
const RAW_EVERY_MS = 2_000;

const NOTES = [
  "Two processes with all layers on, a real Postgres, Milvus Lite, a model's server of 50 ms to the first of 40 tokens and 5 ms between them, an embedding server; everything on this machine, with the clients.",
  "Between the service and what it depends on there are TCP proxies in the process of the clients: times are those of the service and of these.",
  "A fault is felt until 15 s after its end; a turn that overlaps such a time counts as during a fault, with all its retries.",
  "Times are of messages that were sent once by somebody who waited; growth is looked at in the last two thirds of the longest life of each process.",
];

/** The same model without the service in between, until `isOver`: what the times are held against. */
async function callModel(url: string, began: number, isOver: () => boolean, timings: Timings): Promise<void> {
  const body = { model: "raw", stream: true, messages: [{ role: "user", content: "Message raw" }] };
  while (!isOver()) {
    const minute = Math.floor((performance.now() - began) / MINUTE_MS);
    const { firstTokenMs, totalMs } = await readStream(`${url}/chat/completions`, body);
    addTime(timings, RAW_FIRST_TOKEN, minute, firstTokenMs);
    addTime(timings, RAW_TURN, minute, totalMs);
    await sleep(RAW_EVERY_MS);
  }
}

const growthFigure = ({ name, before, after }: Growth): Figure =>
  figureOf(`${name}, end to middle`, "times", [[after / Math.max(before, 1e-9)]]);

/**
 * Half an hour (SOAK_MINUTES) of mixed load on two processes with a fault every minute. Throws when anything was lost, doubled, left behind
 * by an erase, or grew without bound; the results are written before.
 */
export async function benchSoak(progress: Progress): Promise<void> {
  process.stdout.write(`soak: ${MINUTES} minutes, SOAK_SEED=${SEED}\n`);
  progress.step("starting everything");
  const random = makeSeededRandom(SEED);
  const stage = await openSoakStage(random);
  try {
    const { processes, database } = stage;
    const timings: Timings = new Map();
    const began = performance.now();
    const isOver = (): boolean => performance.now() - began > MINUTES * MINUTE_MS;
    const watching = watchSoak(stage);
    const [deeds, windows] = await Promise.all([
      useService(processes.network, SEED, isOver),
      playFaults(stage, MINUTES, began, (name, minute) => progress.step(`minutes, now ${name}`, minute, MINUTES)),
      callModel(stage.modelUrl, began, isOver, timings),
    ]);
    const samples = await watching.stop();
    progress.step("sending every key once more");
    await sleep(LEASE_MS + 100); // what was left behind has run out
    await sendAllOnceMore(processes.network, deeds.exchanges, random);
    const { jobsDoneMs, wrongs: deadJobs } = await waitForJobs(database);
    progress.step("looking at what is stored");
    const wrongs = [...deadJobs, ...(await findSoakWrongs(stage, deeds))];
    await processes.stop();
    wrongs.push(...processes.violations);
    const growth = [...growthOfProcesses(samples.processes), ...growthOfTables(samples.stored, began)];
    wrongs.push(...growth.filter(({ isUnbounded }) => isUnbounded).map((grown) => `it grows without bound: ${JSON.stringify(grown)}`));
    for (const place of [0, 1])
      if (!samples.processes.some((sample) => sample.place === place)) wrongs.push(`process ${place + 1} told nothing in /metrics`);

    latencies(deeds.exchanges, windows, began, timings);
    const figures = [...figuresOf(timings), ...growth.filter(({ name }) => name.includes("process")).map(growthFigure)];
    const longestAway = processes.longestStopMs();
    const done = deeds.exchanges.filter(({ reports }) => reports.some((report) => report.done)).length;
    const counts = { ...deeds.counts, messages: deeds.exchanges.length + deeds.erasedExchanges.length, done, ...processes.count };
    printFigures(figures, [JSON.stringify({ ...counts, jobsDoneMs, longestStopMs: longestAway }), ...wrongs]);
    await writeResults("soak", {
      ...{
        minutes: MINUTES,
        seed: SEED,
        counts,
        jobsDoneMs,
        longestStopMs: longestAway,
        growth,
        wrongs: wrongs.map((wrong) => wrong.slice(0, 1_000)),
      },
      faults: windows.map(({ name, from, until }) => ({
        name,
        fromSecond: Math.round((from - began) / 1_000),
        untilSecond: Math.round((until - began) / 1_000),
      })),
      ...{ figures, plots: plotsOf(timings, samples, began, MINUTES), notes: NOTES },
    });
    if (wrongs.length > 0)
      throw new Error(`the soak is not as it must be:\n${wrongs.join("\n\n")}\nthe processes:\n  ${processes.journal.join("\n  ")}`);
  } finally {
    await stage.close();
  }
}
