import { defineBench, EMBEDDER_ENVIRONMENT } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import type { Embedder } from "../models/embedder.ts";
import type { Figure } from "./support/figures.ts";
import { type Legs, type OpenedRecallSet, openRecallSet, ownerOf } from "./support/recall/open-set.ts";
import { openEmbedders } from "./support/open-embedders.ts";
import type { Progress } from "./support/progress.ts";
import { type Answered, type MeasuredSet, recallFigures, type RecallFigures, recallFiguresOf } from "./support/recall/figures.ts";
import { readRecallSets, type RecallHistory, type RecallSet, unitOf } from "./support/recall/read-sets.ts";

const UNRELATED_QUESTIONS: readonly string[] = [
  ...["thanks!", "What is 2+2?", "How do I sort a list in Python?", "Who wrote Don Quixote?", "What is the boiling point of mercury?"],
  ...["Translate 'good morning' into Finnish.", "Explain how a transistor works.", "How many moons does Jupiter have?"],
  ...["Write a haiku about rust.", "ok, good night", "谢谢！", "三乘七等于多少？", "怎么用 Rust 写一个链表？"],
  ...["《战争与和平》的作者是谁？", "水银的沸点是多少？", "把“早上好”翻译成芬兰语。", "量子纠缠是什么原理？"],
  ...["木星有几颗卫星？", "鸦片战争发生在哪一年？", "好的，晚安"],
];

const LEGS: readonly Legs[] = ["keywords", "vectors", "fused"];
/** More than anybody looks at. */
const LIMIT = 50;
const HISTORIES_ASKED = 5;
const DAY_MS = 24 * 60 * 60 * 1_000;

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
      answers.push({ gold: units, returned: episodes.map(({ externalIds }) => externalIds.map(unitOf)) });
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

async function measure(set: RecallSet, embedder: Embedder, progress: Progress): Promise<MeasuredSet> {
  const tell = (what: string, done?: number): void =>
    progress.step(`${embedder.name}: ${set.name}: ${what}`, done, done === undefined ? undefined : set.histories.length);
  await using opened = await openRecallSet(set, embedder, (done) => tell("histories indexed", done));
  const byLegs = {} as MeasuredSet["byLegs"];
  let recallMs: number[] = [];
  for (const legs of LEGS) {
    tell(`asking, ${legs}`);
    const { answers, times } = await askAll(opened, set, legs);
    const halfOf = (half: number): RecallFigures => recallFigures(answers.filter((_, place) => place % 2 === half));
    byLegs[legs] = { all: recallFigures(answers), halves: [halfOf(0), halfOf(1)] };
    recallMs = times;
  }
  tell("asking what is not there");
  return { set: set.name, byLegs, recallMs, unrelated: await askUnrelated(opened, set) };
}

const DATA = "CONVERSATION_DATA";

async function run({ histories }: { histories: number }, progress: Progress): Promise<Measured> {
  const wanted = process.env["BENCH_SETS"]?.split(",");
  const all = await readRecallSets(process.env[DATA] ?? "");
  const sets = chooseHistories(all, histories || Infinity).filter(({ name }) => wanted?.includes(name) ?? true);
  const figures: Figure[] = [];
  for (const embedder of await openEmbedders()) {
    const measured: MeasuredSet[] = [];
    for (const set of sets) measured.push(await measure(set, embedder, progress));
    figures.push(...recallFiguresOf(embedder.name, measured));
  }
  const notes = [
    "Keywords and vectors together, as the service recalls. Weights were chosen on one half of the questions; the spread is that of the two halves.",
  ];
  return { figures, notes };
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
  whyNot: () => (process.env[DATA] ? undefined : `It needs ${DATA}, a folder of conversations with gold evidence.`),
  run,
});
