import { defineBench, EMBEDDER_ENVIRONMENT } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import type { Embedder } from "../models/embedder.ts";
import { distribution, type Distribution, type Figure } from "./support/figures.ts";
import { type Legs, type OpenedRecallSet, openRecallSet, ownerOf } from "./support/recall/open-set.ts";
import { openEmbedders } from "./support/open-embedders.ts";
import type { Progress } from "./support/progress.ts";
import { type Answered, recallFigures, type RecallFigures, recallFiguresOf } from "./support/recall/figures.ts";
import { readRecallSets, type RecallHistory, type RecallSet, unitOf } from "./support/recall/read-sets.ts";

const UNRELATED_QUESTIONS: readonly string[] = [
  ...["thanks!", "What is 2+2?", "How do I sort a list in Python?", "Who wrote Don Quixote?", "What is the boiling point of mercury?"],
  ...["Translate 'good morning' into Finnish.", "Explain how a transistor works.", "How many moons does Jupiter have?"],
  ...[
    "Write a haiku about rust.",
    "ok, good night",
    "谢谢！",
    "三乘七等于多少？",
    "怎么用 Rust 写一个链表？",
    "《战争与和平》的作者是谁？",
  ],
  ...["水银的沸点是多少？", "把“早上好”翻译成芬兰语。", "量子纠缠是什么原理？", "木星有几颗卫星？", "鸦片战争发生在哪一年？", "好的，晚安"],
];

const LEGS: readonly Legs[] = ["keywords", "vectors", "fused"];
const HALVES = { all: [0, 1], chosen: [0], other: [1] } as const;
/** More than fit 4,000 characters, and more than anybody looks at. */
const LIMIT = 50;
const HISTORIES_ASKED = 5;
const DAY_MS = 24 * 60 * 60 * 1_000;

interface MeasuredSet {
  set: string;
  histories: number;
  figures: Record<Legs, Record<keyof typeof HALVES, RecallFigures>>;
  /** One recall with both legs; it embeds the question unless BENCH_EMBEDDING_CACHE has it. */
  recallMs: Distribution;
  unrelated: { asked: number; answered: number };
}

function chooseHistories(sets: RecallSet[], most: number): RecallSet[] {
  return sets.map(({ name, histories }) => {
    const every = Math.max(1, Math.ceil(histories.length / most));
    return { name, histories: histories.filter((_, position) => position % every === 0) };
  });
}

function dayAfter({ messages }: RecallHistory): Date {
  return new Date(messages.reduce((last, { createdAt }) => Math.max(last, createdAt?.getTime() ?? 0), 0) + DAY_MS);
}

async function askAll(opened: OpenedRecallSet, { histories }: RecallSet, legs: Legs): Promise<{ answers: Answered[]; times: number[] }> {
  const answers: Answered[] = [];
  const times: number[] = [];
  for (const [position, history] of histories.entries()) {
    for (const { text, askedAt, units } of history.questions) {
      const recall = opened.recall(legs, askedAt ?? dayAfter(history));
      const begun = performance.now();
      const { episodes } = await recall({ ...ownerOf(position), question: text, limit: LIMIT });
      times.push(performance.now() - begun);
      const returned = episodes.map(({ externalIds, userMessage, assistantMessage }) => {
        return { units: externalIds.map(unitOf), characters: userMessage.length + assistantMessage.length };
      });
      answers.push({ gold: units, returned });
    }
  }
  return { answers, times };
}

async function askUnrelated(opened: OpenedRecallSet, { histories }: RecallSet): Promise<MeasuredSet["unrelated"]> {
  const asked = histories.slice(0, HISTORIES_ASKED);
  let answered = 0;
  for (const [position, history] of asked.entries()) {
    const recall = opened.recall("fused", dayAfter(history));
    for (const question of UNRELATED_QUESTIONS) {
      const { episodes } = await recall({ ...ownerOf(position), question, limit: 1 });
      if (episodes.length > 0) answered++;
    }
  }
  return { asked: asked.length * UNRELATED_QUESTIONS.length, answered };
}

async function measure(set: RecallSet, embedder: Embedder, progress: Progress): Promise<{ row: MeasuredSet; recallTimes: number[] }> {
  const tell = (what: string, done?: number): void =>
    progress.step(`${embedder.name}: ${set.name}: ${what}`, done, done === undefined ? undefined : set.histories.length);
  await using opened = await openRecallSet(set, embedder, (done) => tell("histories indexed", done));
  const figures = {} as MeasuredSet["figures"];
  let recallTimes: number[] = [];
  for (const legs of LEGS) {
    tell(`asking, ${legs}`);
    const { answers, times } = await askAll(opened, set, legs);
    const ofHalf = (places: readonly number[]): RecallFigures => recallFigures(answers.filter((_, place) => places.includes(place % 2)));
    figures[legs] = { all: ofHalf(HALVES.all), chosen: ofHalf(HALVES.chosen), other: ofHalf(HALVES.other) };
    recallTimes = times;
  }
  tell("asking what is not there");
  const unrelated = await askUnrelated(opened, set);
  const row = { set: set.name, histories: set.histories.length, figures, recallMs: distribution(recallTimes), unrelated };
  return { row, recallTimes };
}

function print(embedder: string, rows: MeasuredSet[]): void {
  const percent = (share: number): string => (share * 100).toFixed(1);
  console.log(`\n${embedder}\n`);
  console.log("| set | questions | search | recall@5 | recall@10 | hit@5 | all@5 | MRR | in 4,000 characters |");
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const { set, figures } of rows) {
    for (const legs of LEGS) {
      const { questions, ...shares } = figures[legs].all;
      console.log(`| ${set} | ${questions} | ${legs} | ${Object.values(shares).map(percent).join(" | ")} |`);
    }
  }
  console.log("\n| set | chosen half @5 / @10 | other half @5 / @10 | all @5 / @10 | unrelated questions answered | recall ms p50 / p95 |");
  console.log("| --- | --- | --- | --- | --- | --- |");
  for (const { set, figures, unrelated, recallMs } of rows) {
    const { all, chosen, other } = figures.fused;
    const cells = [chosen, other, all].map(({ recallAt5, recallAt10 }) => `${percent(recallAt5)} / ${percent(recallAt10)}`);
    const times = `${recallMs.p50.toFixed(1)} / ${recallMs.p95.toFixed(1)}`;
    console.log(`| ${set} | ${cells.join(" | ")} | ${unrelated.answered} of ${unrelated.asked} | ${times} |`);
  }
}

const DATA = "CONVERSATION_DATA";

async function run({ histories }: { histories: number }, progress: Progress): Promise<Measured> {
  const wanted = process.env["BENCH_SETS"]?.split(",");
  const all = await readRecallSets(process.env[DATA] ?? "");
  const sets = chooseHistories(all, histories || Infinity).filter(({ name }) => wanted?.includes(name) ?? true);
  const results: { embedder: string; sets: MeasuredSet[] }[] = [];
  const figures: Figure[] = [];
  for (const embedder of await openEmbedders()) {
    const rows: { row: MeasuredSet; recallTimes: number[] }[] = [];
    for (const set of sets) rows.push(await measure(set, embedder, progress));
    print(embedder.name, rows.map(({ row }) => row)); // prettier-ignore
    results.push({ embedder: embedder.name, sets: rows.map(({ row }) => row) });
    const fused = rows.map(({ row, recallTimes }) => {
      const { all, chosen, other } = row.figures.fused;
      return { set: row.set, unrelated: row.unrelated, all, halves: [chosen, other], recallMs: recallTimes };
    });
    figures.push(...recallFiguresOf(embedder.name, fused));
  }
  const notes = [
    "Keywords and vectors together, as the service recalls. Weights were chosen on one half of the questions; the spread is that of the two halves.",
  ];
  return { figures, notes, results };
}

export const recall = defineBench({
  asks: "Do earlier exchanges come back when they are asked for, by keywords, by meaning and by both",
  minutes: { short: 2, long: 30 },
  numbers: { histories: { of: "histories of each set, 0 for all", short: 2, long: 0 } },
  environment: {
    [DATA]: "a folder of conversations with gold evidence; it is left out without",
    BENCH_SETS: "the sets that are asked, as LoCoMo,MemDaily",
    ...EMBEDDER_ENVIRONMENT,
  },
  printsTables: true,
  whyNot: () => (process.env[DATA] ? undefined : `It needs ${DATA}, a folder of conversations with gold evidence.`),
  run,
});
