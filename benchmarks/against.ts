import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { extractCommit, git } from "../test/hard/chaos/version-tree.ts";
import { createDataFolder } from "../test/servers/data-folder.ts";
import { defineBench } from "./support/bench.ts";
import { figureOf, type Figure, percentile } from "./support/figures.ts";
import type { Progress } from "./support/progress.ts";
import type { Measured } from "./support/results.ts";
import { measureStarts, STARTS, type Starts } from "./support/against/starts.ts";
import { startMemoryStores } from "./support/service/memory-service.ts";
import { ROOT, startModel } from "./support/start-process.ts";
import { everyLayer, oneNodeWithSaver, rawFetch, thisService, type Contender } from "./support/turn/contenders.ts";

/** Runs npm in a folder, with the Node and npm of this process' machine. Throws with its output when it fails. */
function npm(folder: string, ...words: string[]): void {
  const { status, stdout, stderr } = spawnSync("npm", words, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm ${words.join(" ")} failed:\n${stdout}\n${stderr}`);
}

/** Builds another commit of this project in a folder of its own, with its own packages. The folder goes with `opened`. */
async function buildCommit(commit: string, opened: AsyncDisposableStack): Promise<{ folder: string; name: string }> {
  const name = await git("rev-parse", "--verify", "--short=8", `${commit}^{commit}`).catch(() => {
    throw new Error(`git knows no commit "${commit}"`);
  });
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-commit-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await extractCommit(name, folder);
  npm(folder, "ci", "--no-audit", "--no-fund", "--prefer-offline");
  npm(folder, "run", "--silent", "build");
  return { folder, name };
}

const TURNS_PER_ROUND = 20;
const STREAMS = 50;

/** Off: what a turn does besides its conversation. */
const NO_LAYERS = { ENABLE_SUMMARY: "false", ENABLE_CORE_MEMORY: "false", ENABLE_EPISODIC_MEMORY: "false" };

/** What one round of one build cost. */
interface Round {
  cpuMs: number;
  firstTokenMs: number;
  turnMs: number;
  turnsASecond: number;
  statements: number;
  statementMs: number;
  residentMiB: number;
}

type Built = Contender & { url: string };

const STATEMENTS = /^conversation_graph_postgres_statement_duration_seconds_(sum|count)\{([^}]*)\} (\S+)$/gm;

/** Statements so far, and their time in milliseconds, with the wait for a connection. A transaction counts by its statements. */
async function statementsOf(url: string): Promise<{ count: number; ms: number }> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const sums = { count: 0, sum: 0 };
  for (const [, what, labels = "", value] of text.matchAll(STATEMENTS))
    if (!labels.includes('statement="transaction"')) sums[what as "sum" | "count"] += Number(value);
  return { count: sums.count, ms: sums.sum * 1_000 };
}

let session = 0;

/** A single user reads before the next question; meanwhile background work may run. */
const READS_MS = 200;

/** Has so many turns, `streams` at once; one user of a service pauses between them. Returns the times of each. */
async function runTurns(contender: Contender, count: number, streams: number): Promise<{ firstTokenMs: number; totalMs: number }[]> {
  const times: { firstTokenMs: number; totalMs: number }[] = [];
  const one = async (): Promise<void> => {
    const own = `against-${session++}`;
    for (let turn = 0; turn < count / streams; turn++) {
      if (streams === 1 && contender.service) await sleep(READS_MS);
      times.push(await contender.turn(own, `Turn ${turn} of ${own}: please answer with forty words.`));
    }
  };
  await Promise.all(Array.from({ length: streams }, one));
  return times;
}

async function runRound(contender: Built, turns: number, streams: number): Promise<Round> {
  const [cpu, statements, began] = [contender.cpuMs(), await statementsOf(contender.url), performance.now()];
  const times = await runTurns(contender, turns, streams);
  const seconds = (performance.now() - began) / 1_000;
  await contender.settle?.();
  const after = await statementsOf(contender.url);
  return {
    cpuMs: (contender.cpuMs() - cpu) / turns,
    firstTokenMs: percentile(times.map(({ firstTokenMs }) => firstTokenMs), 0.5), // prettier-ignore
    turnMs: percentile(times.map(({ totalMs }) => totalMs), 0.5), // prettier-ignore
    turnsASecond: turns / seconds,
    statements: (after.count - statements.count) / turns,
    statementMs: (after.ms - statements.ms) / turns,
    residentMiB: contender.service?.residentMiB() ?? 0,
  };
}

const OF_ONE = {
  cpuMs: "CPU a turn with its jobs",
  firstTokenMs: "first token over that of the raw call",
  turnMs: "turn",
  statements: "statements a turn with its jobs",
  statementMs: "time of statements a turn",
  residentMiB: "resident memory",
} as const satisfies Partial<Record<keyof Round, string>>;
const OF_MANY = { turnsASecond: "turns a second", cpuMs: OF_ONE.cpuMs } as const satisfies Partial<Record<keyof Round, string>>;

/** The ratio of each value of `units`, this build to the other, round by round; a ratio of 0.5 is half as much. */
function ratios<Value extends string>(
  what: string,
  own: readonly Record<NoInfer<Value>, number>[],
  other: readonly Record<NoInfer<Value>, number>[],
  units: Readonly<Record<Value, string>>,
): Figure[] {
  return (Object.keys(units) as Value[]).map((value) => {
    const byRound = own.map((round, index) => [round[value] / (other[index]?.[value] ?? Number.NaN)]);
    const medians = [own, other].map((rounds) => percentile(rounds.map((round) => round[value]), 0.5).toFixed(1)); // prettier-ignore
    return figureOf(`${units[value]}, ${what} (${medians.join(" to ")})`, "ratio", byRound);
  });
}

type Numbers = Record<"rounds" | "warm-up" | "starts", number>;

async function run(numbers: Numbers, progress: Progress, commit: string): Promise<Measured> {
  await using opened = new AsyncDisposableStack();
  progress.step(`building ${commit}`);
  const other = await buildCommit(commit, opened);
  const stores = await startMemoryStores(opened, { hasSeveral: true });
  const model = await startModel(opened);
  const dataFolder = async (): Promise<Record<string, string>> => {
    const { folder, remove } = await createDataFolder({ migrated: false });
    opened.defer(remove);
    return { DATA_DIR: folder };
  };
  const places: readonly (readonly [string, () => Promise<Record<string, string> | null>])[] = [
    ["embedded", dataFolder],
    [`Postgres with ${stores.vectors}`, () => stores.open()],
    [stores.withMilvus, () => stores.openWithMilvus()],
    ["embedded, layers off", async () => ({ ...(await dataFolder()), ...NO_LAYERS })],
    ["Postgres, layers off", async () => ({ ...(await stores.open()), ...NO_LAYERS })],
  ];
  const raw = rawFetch(model.line);
  const reference = await oneNodeWithSaver(model.line, stores.databaseUrl);
  opened.defer(() => reference.close());
  const figures: Figure[] = [];
  for (const [place, open] of places.slice(0, 2)) {
    const starts = { own: [] as Starts[], theirs: [] as Starts[] };
    for (let round = 0; round < numbers.starts; round++) {
      progress.step(`${place}: starts`, round + 1, numbers.starts);
      starts.own.push(await measureStarts(model.line, (await open()) ?? {}, ROOT));
      starts.theirs.push(await measureStarts(model.line, (await open()) ?? {}, other.folder));
    }
    figures.push(...ratios(place, starts.own, starts.theirs, STARTS));
  }
  for (const [place, open] of places) {
    await using here = new AsyncDisposableStack();
    const start = async (folder: string): Promise<Built | null> => {
      const environment = await open();
      if (!environment) return null;
      const startBuild = "ENABLE_SUMMARY" in environment ? thisService : everyLayer;
      const built = await startBuild(place, model.line, environment, folder);
      here.defer(() => built.close());
      return built;
    };
    progress.step(`${place}: starting both`);
    const [own, theirs] = [await start(ROOT), await start(other.folder)];
    if (!own || !theirs) continue;
    for (const built of [own, theirs]) {
      progress.step(`${place}: warming up`);
      await runTurns(built, numbers["warm-up"], 4);
      await built.settle?.();
    }
    const [one, many] = [
      { own: [] as Round[], theirs: [] as Round[] },
      { own: [] as Round[], theirs: [] as Round[] },
    ];
    const referenceCpu: number[] = [];
    for (let round = 0; round < numbers.rounds; round++) {
      const floor = percentile((await runTurns(raw, TURNS_PER_ROUND, 1)).map(({ firstTokenMs }) => firstTokenMs), 0.5); // prettier-ignore
      const cpu = reference.cpuMs();
      await runTurns(reference, TURNS_PER_ROUND, 1);
      referenceCpu.push((reference.cpuMs() - cpu) / TURNS_PER_ROUND);
      // Which comes first changes from round to round.
      const order = round % 2 === 0 ? (["own", "theirs"] as const) : (["theirs", "own"] as const);
      for (const who of order) {
        const built = who === "own" ? own : theirs;
        const measured = await runRound(built, TURNS_PER_ROUND, 1);
        one[who].push({ ...measured, firstTokenMs: measured.firstTokenMs - floor });
        many[who].push(await runRound(built, 2 * STREAMS, STREAMS));
      }
      progress.step(`${place}: rounds`, round + 1, numbers.rounds);
    }
    figures.push(
      ...ratios(place, one.own, one.theirs, OF_ONE),
      ...ratios(`${place}, ${STREAMS} users at once`, many.own, many.theirs, OF_MANY),
      figureOf(
        `CPU a turn with its jobs, ${place}, to one-node LangGraph with PostgresSaver`,
        "ratio",
        one.own.map(({ cpuMs }, index) => [cpuMs / (referenceCpu[index] ?? Number.NaN)]),
      ),
    );
  }
  const notes = [
    `This build to ${other.name}: each figure is a ratio, round by round, with the medians of both in brackets. Below 1 is less; of turns a second above 1 is better.`,
    `${numbers.rounds} rounds in turns, each of ${TURNS_PER_ROUND} turns of one user, ${READS_MS} ms apart, and ${2 * STREAMS} of ${STREAMS} users, after ${numbers["warm-up"]} turns that warm up. The jobs that turns leave are waited for and counted. CPU and memory are those of the service's process.`,
  ];
  return { figures, notes };
}

export const against = defineBench({
  asks: "What does a turn cost, compared with another commit of this project, measured side by side",
  argument: { name: "COMMIT", of: "a commit, branch or tag that git knows" },
  minutes: { short: 25, long: 50 },
  numbers: {
    rounds: { of: "rounds of both builds, on each store", short: 8, long: 16 },
    starts: { of: "starts of both builds, embedded and on Postgres", short: 2, long: 4 },
    "warm-up": { of: "turns of each build before the first that counts", short: 300, long: 300 },
  },
  run,
});
