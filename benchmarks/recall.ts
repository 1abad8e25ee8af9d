import { defineBench, EMBEDDER_ENVIRONMENT } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import type { Embedder } from "../models/embedder.ts";
import { makeHashedEmbedder } from "../models/offline/hashed-embedder.ts";
import { type Figure, figureOf } from "./support/figures.ts";
import { type Legs, type OpenedRecallSet, openRecallSet, ownerOf } from "./support/recall/open-set.ts";
import { openEmbedders } from "./support/open-embedders.ts";
import type { Progress } from "./support/progress.ts";
import { type Answered, type MeasuredSet, recallFigures, recallFiguresOf, sameFive } from "./support/recall/figures.ts";
import { PGLITE, type Place, placesToMeasure } from "./support/recall/places.ts";
import { measureRealTurns } from "./support/recall/real-turns.ts";
import { readRecallSets, type RecallHistory, type RecallSet, unitOf } from "./support/recall/read-sets.ts";

const UNRELATED_QUESTIONS: readonly string[] = [
  ...["thanks!", "What is 2+2?", "How do I sort a list in Python?", "Who wrote Don Quixote?", "What is the boiling point of mercury?"],
  ...["Translate 'good morning' into Finnish.", "Explain how a transistor works.", "How many moons does Jupiter have?"],
  ...["Write a haiku about rust.", "ok, good night", "谢谢！", "三乘七等于多少？", "怎么用 Rust 写一个链表？"],
  ...["《战争与和平》的作者是谁？", "水银的沸点是多少？", "把“早上好”翻译成芬兰语。", "量子纠缠是什么原理？"],
  ...["木星有几颗卫星？", "鸦片战争发生在哪一年？", "好的，晚安"],
];

const LEGS: readonly Legs[] = ["BM25", "keywords", "vectors", "fused"];
/** More than anybody looks at. */
const LIMIT = 50;
const FIVE = 5;
/** As in a turn with the default settings. */
const IN_A_TURN = { limit: 3, tokens: 1_000 };
const OWN_EPISODES = [200, 2_000, 20_000];
const SEARCHES = 100;
const QUESTIONS_OF_HISTORY = 3;
const HISTORIES_ASKED = 5;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** One English and one Chinese set, for comparing places. */
const COMPARED = ["LoCoMo", "MADial zh"];
/** Their questions name days without a year. */
const ASKED_LATER = ["MemoryBank zh", "MemoryBank en"];
const LATER_MS = 3 * 365 * DAY_MS;

/** Questions of each set, spread over it; all when `most` is 0. */
function chooseHistories(sets: RecallSet[], most: number): RecallSet[] {
  if (most === 0) return sets;
  return sets.map(({ name, histories }) => {
    const every = Math.ceil(histories.length / most);
    return { name, histories: histories.filter((_, position) => position % every === 0) };
  });
}

function dayAfter({ messages }: RecallHistory): Date {
  return new Date(messages.reduce((last, { createdAt }) => Math.max(last, createdAt?.getTime() ?? 0), 0) + DAY_MS);
}

const unitsOf = ({ externalIds }: { externalIds: string[] }): string[] => externalIds.map(unitOf);

async function askAll(opened: OpenedRecallSet, { histories }: RecallSet, legs: Legs, laterMs = 0) {
  const [answers, times, five]: [Answered[], number[], string[]] = [[], [], []];
  for (const [position, history] of histories.entries()) {
    for (const { text, askedAt, units } of history.questions) {
      const now = new Date((askedAt ?? dayAfter(history)).getTime() + laterMs);
      const recall = legs === "BM25" ? opened.byWords : opened.recall(legs, now);
      const asked = { ...ownerOf(position), question: text };
      const begun = performance.now();
      const { episodes: inTurn } = await recall({ ...asked, ...IN_A_TURN });
      times.push(performance.now() - begun);
      const { episodes } = await recall({ ...asked, limit: LIMIT });
      const returned = episodes.map(unitsOf);
      answers.push({ gold: units, returned, shown: inTurn.flatMap((hit) => [hit, ...hit.neighbours].flatMap(unitsOf)) });
      five.push(
        returned
          .slice(0, FIVE)
          .map((one) => one.toSorted().join(" "))
          .toSorted()
          .join(" "),
      );
    }
  }
  return { answers, times, five };
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

type Tell = (what: string, done?: number, total?: number) => void;

async function measure(set: RecallSet, embedder: Embedder, place: Place, tell: Tell): Promise<MeasuredSet> {
  const { name, histories } = set;
  await using opened = await openRecallSet(set, embedder, (done) => tell(`${name}: histories indexed`, done, histories.length), place);
  const byLegs: MeasuredSet["byLegs"] = {};
  let last: Pick<MeasuredSet, "recallMs" | "five"> = { recallMs: [], five: [] };
  const isFirst = place === PGLITE;
  for (const legs of isFirst ? LEGS : (["fused"] as const)) {
    tell(`${name}: asking, ${legs}`);
    const { answers, times, five } = await askAll(opened, set, legs);
    byLegs[legs] = recallFigures(answers);
    last = { recallMs: times, five };
  }
  const questions = histories.reduce((sum, history) => sum + history.questions.length, 0);
  const later = isFirst && ASKED_LATER.includes(name) ? recallFigures((await askAll(opened, set, "fused", LATER_MS)).answers) : null;
  return { set: name, questions, byLegs, later, ...last, unrelated: isFirst ? await askUnrelated(opened, set) : null };
}

/** The time of a search among so many exchanges of one user, all sets together, with the built-in embedder. */
async function measureGrowth(sets: readonly RecallSet[], place: Place, largest: number, tell: Tell): Promise<Figure[]> {
  const sizes = OWN_EPISODES.filter((size) => size <= largest);
  const said = sets.flatMap(({ histories }) => histories.flatMap(({ messages }) => messages));
  const questions = sets.flatMap(({ histories }) => histories.flatMap((history) => history.questions.slice(0, QUESTIONS_OF_HISTORY)));
  const histories = sizes.map((size) => ({
    messages: said.slice(0, 2 * size).map((message) => ({ ...message, metadata: {} })),
    questions: [],
  }));
  await using opened = await openRecallSet(
    { histories },
    makeHashedEmbedder({}),
    (done) => tell("users indexed", done, sizes.length),
    place,
  );
  const recall = opened.recall("fused", new Date());
  const figures: Figure[] = [];
  for (const [position, size] of sizes.entries()) {
    tell(`searching among ${size}`);
    const times: number[] = [];
    for (const { text: question } of questions.slice(0, SEARCHES)) {
      const begun = performance.now();
      await recall({ ...ownerOf(position), question, ...IN_A_TURN });
      times.push(performance.now() - begun);
    }
    figures.push(figureOf(`one search among ${size.toLocaleString("en")} own exchanges, ${place.name}`, "ms", [times]));
  }
  return figures;
}

const DATA = "CONVERSATION_DATA";

async function placesHere(): Promise<Place[]> {
  const wanted = process.env["BENCH_STORES"]?.split(";");
  const places = await placesToMeasure();
  const missing = await Promise.all(places.map((place) => place.whyNot()));
  return places.filter(({ name }, number) => missing[number] === undefined && (wanted?.includes(name) ?? true));
}

async function run({ histories, own }: { histories: number; own: number }, progress: Progress): Promise<Measured> {
  const wanted = process.env["BENCH_SETS"]?.split(",");
  const all = await readRecallSets(process.env[DATA] ?? "");
  const sets = chooseHistories(all, histories).filter(({ name }) => wanted?.includes(name) ?? true);
  const [places, embedders] = [await placesHere(), await openEmbedders()];
  const figures: Figure[] = [];
  for (const embedder of embedders) {
    let first: MeasuredSet[] | undefined;
    for (const place of places) {
      const measured: MeasuredSet[] = [];
      for (const set of first ? sets.filter(({ name }) => COMPARED.includes(name)) : sets) {
        const tell: Tell = (what, ...counts) => progress.step(`${embedder.name}, ${place.name}: ${what}`, ...counts);
        measured.push(await measure(set, embedder, place, tell));
      }
      figures.push(...recallFiguresOf(embedder.name, place.name, measured));
      if (first && sets.length > 0)
        figures.push(sameFive(first, measured, `the same five as on ${places[0]?.name}, ${embedder.name}, ${place.name}`));
      first ??= measured;
    }
  }
  if (sets.length > 0) figures.push(...(await measureRealTurns(sets, (what) => progress.step(what))));
  for (const place of own === 0 ? [] : places) {
    figures.push(...(await measureGrowth(all, place, own, (what, ...counts) => progress.step(`${place.name}: ${what}`, ...counts))));
  }
  const notes = [
    "Keywords and vectors together, as the service recalls. The spread of a mean over the sets is that of the means with one set left out.",
    `On places other than the first: ${COMPARED.join(" and ")} alone.`,
  ];
  return { figures, notes };
}

export const recall = defineBench({
  asks: "Do earlier exchanges come back when they are asked for, by keywords, by meaning and by both",
  minutes: { short: 5, long: 45 },
  numbers: {
    histories: { of: "histories of each set; 0 for all", short: 2, long: 50 },
    own: { of: "exchanges of one user, up to 20,000, among which a search is timed", short: 200, long: 20_000 },
  },
  environment: {
    [DATA]: "a folder of conversations with gold evidence; it is left out without",
    BENCH_STORES: "the places that are measured, as PGlite;a plain Postgres; none for real turns alone",
    BENCH_SETS: "the sets that are asked, as LoCoMo,MemDaily; none for growth alone",
    BENCH_ADD: "true keeps the published figures that a run with --long does not measure",
    ...EMBEDDER_ENVIRONMENT,
  },
  whyNot: () => (process.env[DATA] ? undefined : `It needs ${DATA}, a folder of conversations with gold evidence.`),
  run,
});
