import { freePort } from "../test/servers/postgres-server.ts";
import { figureOf } from "./support/figures.ts";
import { connectProfiler } from "./support/profile/inspected-process.ts";
import { makeLayersAtWork } from "./support/load/layers-at-work.ts";
import { startMemoryService, type AskedTurn } from "./support/load/memory-service.ts";
import { allJobsDone, questionOf, seedKnowledge, seedUsers } from "./support/load/memory-users.ts";
import { printFigures } from "./support/print-figures.ts";
import { sharesByPackage } from "./support/profile/shares.ts";
import { hottestFunctions, profileTree } from "./support/profile/tree.ts";
import type { Progress } from "./support/progress.ts";
import { startProcess } from "./support/start-process.ts";
import { writeResults } from "./support/write-results.ts";
import { rawFetch } from "./support/turn-contenders.ts";

/** Until then V8 is still compiling. */
const WARM_UP = 1_000;
const TURNS = Number(process.env["BENCH_TURNS"] ?? 500);
/** They take turns, so that nobody's history grows to more than about 100 exchanges. */
const USERS = 20;
const EXCHANGES = 20;
/** Turns of the service before the reference has as many. */
const ROUND = 50;
const INTERVAL_MICROSECONDS = 250;
/** Branches below this share of the whole are left out of the tree. */
const LEAST_SHARE = 0.001;

/** `npm run bench profile`: where the CPU time of a turn goes that has something of every layer of memory, with the jobs that turns leave. */
export async function benchProfile(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const modelServer = await startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args: ["40", "0"] });
  opened.defer(() => modelServer.stop());
  const port = await freePort();
  const environment = { DATA_DIR: "memory://", NODE_OPTIONS: `--inspect=127.0.0.1:${port}` };
  const service = await startMemoryService("this service, PGlite", modelServer.line, environment);
  opened.defer(() => service.process.stop());
  progress.step("history is brought in");
  await seedKnowledge(service.url);
  await seedUsers(service.url, { prefix: "profile", count: USERS, exchanges: EXCHANGES });
  await allJobsDone(service.url);
  const profiler = await connectProfiler(port);
  opened.defer(() => profiler.close());

  /** No message is that of another turn: vectors of questions that were asked before are kept. */
  const turn = (number: number): Promise<AskedTurn> => {
    const asked = questionOf("profile", number % USERS, Math.floor(number / USERS));
    return service.ask({ ...asked, message: `${asked.message} (${number})` });
  };
  for (let number = 0; number < WARM_UP; number++) {
    await turn(number);
    if (number % 10 === 9) progress.step("turns to warm up", number + 1, WARM_UP);
  }
  const raw = rawFetch(modelServer.line);
  const layers = makeLayersAtWork();
  const runs = { turnMs: [] as number[][], firstTokenMs: [] as number[][], rawMs: [] as number[][], cpuMs: [] as number[][] };
  await profiler.start(INTERVAL_MICROSECONDS);
  for (let done = 0; done < TURNS; done += ROUND) {
    const [turns, rawMs]: [AskedTurn[], number[]] = [[], []];
    const before = service.process.cpuMs();
    for (let number = done; number < done + ROUND; number++) turns.push(await turn(WARM_UP + number));
    runs.cpuMs.push([(service.process.cpuMs() - before) / ROUND]);
    for (let number = 0; number < ROUND; number++) rawMs.push((await raw.turn("", "Please answer with forty words.")).totalMs);
    runs.turnMs.push(turns.map(({ totalMs }) => totalMs));
    runs.firstTokenMs.push(turns.map(({ firstTokenMs }) => firstTokenMs));
    runs.rawMs.push(rawMs);
    for (const { result } of turns) layers.count(result);
    progress.step("turns profiled", done + ROUND, TURNS);
  }
  const profile = await profiler.stop();
  const { busyMs, shares } = sharesByPackage(profile);

  const reference = "raw model call";
  const figures = [
    figureOf(reference, "ms", runs.rawMs),
    figureOf("first token over HTTP, profiler on", "ms", runs.firstTokenMs, { reference }),
    figureOf("turn over HTTP, profiler on", "ms", runs.turnMs, { reference }),
    figureOf("CPU a turn, profiler on, with the jobs it leaves", "ms CPU", runs.cpuMs),
  ];
  const turns = runs.turnMs.flat().length;
  const notes = [
    `V8's sampling profiler, every ${INTERVAL_MICROSECONDS} microseconds, over ${turns} turns after ${WARM_UP} that warm up, one after another; embedded PGlite in the same process.`,
    `${layers.tell()} The work of background jobs is in the profile.`,
    "Shares are of the time that the process was busy; what V8 and Node do for a function directly counts for the package of the function.",
  ];
  printFigures(figures, notes);
  console.log(`\n| package | own ms a turn | with what it calls | share |\n| --- | --- | --- | --- |`);
  for (const { name, selfMs, totalMs, share } of shares.filter((one) => one.share >= 0.1))
    console.log(`| ${name} | ${(selfMs / turns).toFixed(2)} | ${(totalMs / turns).toFixed(2)} | ${share.toFixed(1)} % |`);
  const tree = profileTree(profile, LEAST_SHARE);
  await writeResults("profile", { figures, notes, turns, busyMs, shares, hottest: hottestFunctions(profile, 60), tree });
}
