import { writeFile } from "node:fs/promises";
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgresServer } from "../test/support/postgres-server.ts";
import { startProcess } from "./support/start-process.ts";
import { distribution, type Distribution } from "./support/statistics.ts";
import { chatOpenAI, oneNode, oneNodeWithSaver, rawFetch, thisService, type Contender } from "./turn-contenders.ts";

/** Turns of one contender before it is the next one's: short, so that a noisy moment of the machine hits all of them. */
const TURNS_PER_ROUND = 20;
/** 1,000 turns: until then V8 is still compiling, and a turn of the service costs up to twice as much. */
const WARM_UP_ROUNDS = 50;
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 25);
/** A conversation has this many turns before the next one begins, so that the window is full most of the time. */
const TURNS_PER_CONVERSATION = 20;

interface Measured {
  name: string;
  streams: number;
  firstTokenMs: Distribution;
  turnMs: Distribution;
  cpuMsPerTurn: number;
}

interface Samples {
  firstTokenMs: number[];
  turnMs: number[];
  cpuMs: number;
  turns: number;
}

let nextSession = 0;

/** `count` turns of conversations of their own, one after another, into the samples. */
async function runTurns(contender: Contender, count: number, samples: Samples): Promise<void> {
  let session = "";
  for (let turn = 0; turn < count; turn++) {
    if (turn % TURNS_PER_CONVERSATION === 0) session = `bench-${nextSession++}`;
    const { firstTokenMs, totalMs } = await contender.turn(session, `Turn ${turn} of ${session}: please answer with forty words.`);
    samples.firstTokenMs.push(firstTokenMs);
    samples.turnMs.push(totalMs);
    samples.turns++;
  }
}

async function runRound(contender: Contender, streams: number, samples: Samples): Promise<void> {
  const before = contender.cpuMs();
  await Promise.all(Array.from({ length: streams }, () => runTurns(contender, TURNS_PER_ROUND / (streams === 1 ? 1 : 2), samples)));
  samples.cpuMs += contender.cpuMs() - before;
}

/** All contenders in turn, round by round, after a warm-up that is not counted. */
async function compare(contenders: Contender[], streams: number, warmUpRounds: number): Promise<Measured[]> {
  const empty = (): Samples => ({ firstTokenMs: [], turnMs: [], cpuMs: 0, turns: 0 });
  const samples = new Map(contenders.map((contender) => [contender, empty()]));
  for (let round = -warmUpRounds; round < ROUNDS; round++) {
    for (const contender of contenders) await runRound(contender, streams, round < 0 ? empty() : (samples.get(contender) ?? empty()));
    process.stderr.write(`\r${streams} stream${streams === 1 ? "" : "s"}: round ${round + 1} of ${ROUNDS} `);
  }
  process.stderr.write("\n");
  return [...samples].map(([{ name }, { firstTokenMs, turnMs, cpuMs, turns }]) => {
    return { name, streams, firstTokenMs: distribution(firstTokenMs), turnMs: distribution(turnMs), cpuMsPerTurn: cpuMs / turns };
  });
}

/** 100 streams that begin within 2 seconds, each of 200 tokens at 20 a second: milliseconds from the first token to the end of the answer. */
async function measureManyStreams(contenders: Contender[]): Promise<{ name: string; streamingMs: Distribution }[]> {
  const results = [];
  for (const contender of contenders) {
    process.stderr.write(`100 streams: ${contender.name}\n`);
    const times = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await sleep(index * 20);
        return contender.turn(`many-${nextSession++}`, `stream ${index}`);
      }),
    );
    results.push({ name: contender.name, streamingMs: distribution(times.map(({ firstTokenMs, totalMs }) => totalMs - firstTokenMs)) });
  }
  return results;
}

/** Resident memory in MiB after 200 turns and then after every 300 more, to 2,000. */
async function measureMemory(contender: Contender): Promise<number[]> {
  const resident: number[] = [];
  const ignored: Samples = { firstTokenMs: [], turnMs: [], cpuMs: 0, turns: 0 };
  for (const turns of [200, 300, 300, 300, 300, 300, 300]) {
    await Promise.all(Array.from({ length: 4 }, () => runTurns(contender, turns / 4, ignored)));
    resident.push(Math.round(contender.service?.residentMiB() ?? 0));
    process.stderr.write(`\rmemory of ${contender.name}: ${resident.join(", ")} MiB `);
  }
  process.stderr.write("\n");
  return resident;
}

function printTable(rows: Measured[]): void {
  const cells = (values: Distribution): string => `${values.p50.toFixed(1)} / ${values.p95.toFixed(1)} / ${values.p99.toFixed(1)}`;
  console.log(
    "| streams | what | first token ms (p50 / p95 / p99) | turn ms (p50 / p95 / p99) | CPU ms a turn |\n| --- | --- | --- | --- | --- |",
  );
  for (const { name, streams, firstTokenMs, turnMs, cpuMsPerTurn } of rows) {
    console.log(`| ${streams} | ${name} | ${cells(firstTokenMs)} | ${cells(turnMs)} | ${cpuMsPerTurn.toFixed(1)} |`);
  }
}

/** The real Postgres of the tests lacks the extensions. */
const NO_INDEX = { ENABLE_EPISODIC_MEMORY: "false" };

/** What one turn costs, side by side with the raw model call and with plain LangGraph, against the same model server. */
export async function benchTurn(): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const keep = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    opened.defer(() => part.close());
    return part;
  };
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const [fast, paced] = await Promise.all(
    [
      ["40", "0"],
      ["200", "50"],
    ].map((args) => startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args })),
  );
  if (!fast || !paced) throw new Error("the model servers did not start");
  opened.defer(() => Promise.all([fast.stop(), paced.stop()]).then(() => undefined));

  const contenders = [
    rawFetch(fast.line),
    chatOpenAI(fast.line),
    oneNode(fast.line),
    keep(await oneNodeWithSaver(fast.line, postgres.url)),
    keep(await thisService("this service over HTTP, PGlite", fast.line, { DATA_DIR: "memory://" })),
    keep(await thisService("this service over HTTP, Postgres", fast.line, { DATABASE_URL: postgres.url, ...NO_INDEX })),
  ];
  const rows = [...(await compare(contenders, 1, WARM_UP_ROUNDS)), ...(await compare(contenders, 10, 2))];
  const memory = [];
  for (const contender of contenders.filter(({ service }) => service))
    memory.push({ name: contender.name, residentMiB: await measureMemory(contender) });
  const manyStreams = await measureManyStreams([
    rawFetch(paced.line),
    keep(await thisService("this service over HTTP, PGlite", paced.line, { DATA_DIR: "memory://" })),
    keep(await thisService("this service over HTTP, Postgres", paced.line, { DATABASE_URL: postgres.url, ...NO_INDEX })),
  ]);

  printTable(rows);
  console.log("\n100 streams of 200 tokens at 20 a second, first token to end, ms:", JSON.stringify(manyStreams));
  console.log("Resident memory over 2,000 turns, MiB:", JSON.stringify(memory));
  const machine = { cpu: os.cpus()[0]?.model, cores: os.cpus().length, node: process.version };
  await writeFile(
    new URL("./results/turn.json", import.meta.url),
    `${JSON.stringify({ date: new Date().toISOString(), machine, rows, manyStreams, memory }, null, 2)}\n`,
  );
}
