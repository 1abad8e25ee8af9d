import { makeLayersAtWork } from "./support/load/layers-at-work.ts";
import { startMemoryService, type MemoryService } from "./support/load/memory-service.ts";
import { startMemoryStores } from "./support/load/memory-stores.ts";
import { allJobsDone, questionOf, seedKnowledge, seedUsers } from "./support/load/memory-users.ts";
import { printFigures } from "./support/print-figures.ts";
import type { Progress } from "./support/progress.ts";
import { makeSamples } from "./support/samples.ts";
import { seedInBulk } from "./support/load/seed-in-bulk.ts";
import { startProcess } from "./support/start-process.ts";
import { percentile } from "./support/statistics.ts";
import { writeResults } from "./support/write-results.ts";
import { rawFetch } from "./support/turn-contenders.ts";

const MOST_USERS = Number(process.env["BENCH_USERS"] ?? 10_000);
const FEWEST = 10;
const SIZES = [FEWEST, 1_000, 10_000].filter((users) => users <= MOST_USERS);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 15);
/** Of one size, before it is the next one's turn. */
const TURNS = 10;
const WARM_UP_ROUNDS = 20;
/** Those who ask: the same in every size. The rest is what else is in the tables and the index. */
const ASKING = 10;
const RAW = "raw model call";
const PREFIX = "asking";

const turnOf = (users: number): string => `turn, ${users.toLocaleString("en")} users`;
const firstTokenOf = (users: number): string => `first token, ${users.toLocaleString("en")} users`;
const nodeOf = (node: string, users: number): string => `${node}, ${users.toLocaleString("en")} users`;
/** The nodes that read from the stores. */
const READING = ["history", "core_memory", "retrieve"] as const;

/** Whether a turn takes longer the more users there are: services of their own on stores of three sizes, asked in turn. */
export async function benchUsers(progress: Progress): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const model = await startProcess("benchmarks/support/model-server-process.ts", /(http\S+)/, { args: ["40", "0"] });
  opened.defer(() => model.stop());
  const stores = await startMemoryStores(opened);
  const services: { users: number; service: MemoryService }[] = [];
  for (const users of SIZES) {
    const environment = await stores.open();
    const service = await startMemoryService(`${users} users`, model.line, environment);
    opened.defer(() => service.process.stop());
    const count = users - ASKING;
    if (count > 0) await seedInBulk({ environment, count, onProgress: (done) => progress.step(`users of ${users}`, done, count) });
    await seedKnowledge(service.url);
    await seedUsers(service.url, { prefix: PREFIX, count: ASKING, exchanges: 8 });
    await allJobsDone(service.url);
    services.push({ users, service });
  }

  const samples = makeSamples();
  const layers = makeLayersAtWork();
  const raw = rawFetch(model.line);
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    progress.step(round < 0 ? "warm-up" : "round", round < 0 ? round + WARM_UP_ROUNDS : round, round < 0 ? WARM_UP_ROUNDS : ROUNDS);
    for (let turn = 0; turn < TURNS; turn++) {
      const { totalMs } = await raw.turn("", "Please answer with forty words.");
      if (round >= 0) samples.add(RAW, round, totalMs);
    }
    for (const { users, service } of round % 2 === 0 ? services : services.toReversed()) {
      for (let turn = 0; turn < TURNS; turn++) {
        const { firstTokenMs, totalMs, result } = await service.ask(questionOf(PREFIX, turn % ASKING, turn));
        if (round < 0) continue;
        layers.count(result);
        samples.add(turnOf(users), round, totalMs);
        samples.add(firstTokenOf(users), round, firstTokenMs);
        for (const node of READING) samples.add(nodeOf(node, users), round, result.timings.nodes[node] ?? Number.NaN);
      }
      await allJobsDone(service.url);
    }
  }

  const reference = { reference: RAW };
  const figures = [
    samples.figure(RAW, "ms"),
    ...SIZES.flatMap((users) => [
      samples.figure(firstTokenOf(users), "ms", reference),
      samples.figure(turnOf(users), "ms", reference),
      ...READING.map((node) => samples.figure(nodeOf(node, users), "ms", users === FEWEST ? {} : { reference: nodeOf(node, FEWEST) })),
    ]),
  ];
  const series = (name: string, figureName: (users: number) => string) => {
    return { name, values: SIZES.map((users) => percentile(samples.runs(figureName(users)).flat(), 0.5)) };
  };
  const plots = [
    {
      title: "A turn against the number of users",
      x: { label: "users", values: SIZES },
      y: { label: "milliseconds at p50", unit: "ms" },
      log: "x" as const,
      series: [
        series("turn", turnOf),
        series("first token", firstTokenOf),
        ...READING.map((node) => series(node, (users) => nodeOf(node, users))),
        series(RAW, () => RAW),
      ],
    },
  ];
  const notes = [
    `One service process, one database and one index (${stores.index}) for each number of users, all on the same Postgres server, asked in turn; jobs are done before the next one's turn.`,
    `${ASKING} users ask, the same in every size; the others have a conversation of four messages, written in bulk. ${layers.tell()}`,
  ];
  printFigures(figures, notes);
  await writeResults("users", { figures, plots, notes });
}
