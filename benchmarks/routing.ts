import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { Embedder } from "../models/embedder.ts";
import { makeBaseVectors } from "../nodes/routing/base-vectors.ts";
import { makeChooseRoute } from "../nodes/routing/choose-route.ts";
import { GENERAL } from "../nodes/routing/decide-route.ts";
import { nearnessOf } from "../nodes/routing/nearness.ts";
import { NEUTRAL_SENTENCES } from "../nodes/routing/neutral-sentences.ts";
import { makeRouteByEmbedding } from "../nodes/routing/route-by-embedding.ts";
import type { KnowledgeBase } from "../stores/knowledge-catalog.ts";
import { confidenceBuckets, type JudgedRoute } from "../test/nodes/confidence-buckets.ts";
import { ROUTING_BASES } from "../test/nodes/routing-bases.ts";
import { routingQuestions, type RoutingQuestion } from "../test/nodes/routing-questions.ts";
import { distribution } from "./support/statistics.ts";
import { openEmbedders } from "./support/open-embedders.ts";
import { writeResults } from "./support/write-results.ts";

interface Judged extends JudgedRoute {
  question: RoutingQuestion;
  decided: string;
  method: string;
  ms: number;
}

const percent = (right: number, of: number): string => `${((100 * right) / of).toFixed(1)} % (${right} of ${of})`;
const countOf = <Item>(items: readonly Item[], test: (item: Item) => boolean): number => items.filter(test).length;
const isRight = ({ isRight: right }: Judged): boolean => right;

async function judge(embedder: Embedder | null, questions: RoutingQuestion[], bases: KnowledgeBase[] = ROUTING_BASES): Promise<Judged[]> {
  const byEmbedding = embedder && makeRouteByEmbedding({ embedder, timeoutMs: 60_000 });
  const chooseRoute = makeChooseRoute({ byEmbedding, byModel: null });
  const onFailure = (error: unknown): never => {
    throw error;
  };
  const judged: Judged[] = [];
  for (const question of questions) {
    const began = performance.now();
    const asked = { tenantId: "bench", message: question.text, requested: null, agentType: "hybrid_agent" as const, bases, onFailure };
    const { kb_prefix: decided, confidence, method } = await chooseRoute(asked);
    judged.push({ question, decided, confidence, method, isRight: decided === question.gold, ms: performance.now() - began });
  }
  return judged;
}

/** Rows: the right base; columns: what was decided. */
function confusion(judged: readonly Judged[]): Record<string, Record<string, number>> {
  const names = [...ROUTING_BASES.map(({ prefix }) => prefix), GENERAL];
  const count = (gold: string, decided: string): number =>
    countOf(judged, (route) => route.question.gold === gold && route.decided === decided);
  return Object.fromEntries(
    names.map((gold) => [gold, Object.fromEntries(names.map((decided) => [decided, count(gold, decided)] as const))] as const),
  );
}

/** Questions of a base that a tenant does not have, those without a keyword: the share that goes to none of the others. */
async function withoutTheirBase(embedder: Embedder | null, questions: RoutingQuestion[]): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const { prefix } of ROUTING_BASES) {
    const own = questions.filter(({ gold }) => gold === prefix).map(({ text }) => ({ text, gold: GENERAL }));
    judged.push(
      ...(await judge(
        embedder,
        own,
        ROUTING_BASES.filter((base) => base.prefix !== prefix),
      )),
    );
  }
  return judged.filter(({ method }) => method !== "rule");
}

async function measure(name: string, embedder: Embedder | null, half: "chosen" | "reported"): Promise<object> {
  const questions = routingQuestions(half);
  const judged = await judge(embedder, questions);
  const unruled = judged.filter(({ method }) => method !== "rule");
  const missing = await withoutTheirBase(embedder, questions);
  const table = confusion(judged);
  const buckets = confidenceBuckets(judged);
  console.log(`\n${name}, ${half} half: ${percent(countOf(judged, isRight), judged.length)} right;`);
  console.log(
    `by rule ${percent(
      countOf(judged, (route) => route.method === "rule" && route.isRight),
      judged.length - unruled.length,
    )},`,
  );
  console.log(
    `no keyword ${percent(countOf(unruled, isRight), unruled.length)}, base not there ${percent(countOf(missing, isRight), missing.length)}`,
  );
  console.table(table);
  console.table(buckets);
  const wrong = judged.filter((route) => !route.isRight).map(({ question, decided, confidence }) => ({ ...question, decided, confidence }));
  const share = (routes: Judged[]): number => countOf(routes, isRight) / routes.length;
  return {
    name,
    half,
    questions: judged.length,
    right: share(judged),
    withoutKeyword: { questions: unruled.length, right: share(unruled) },
    baseNotThere: { questions: missing.length, right: share(missing) },
    ms: distribution(judged.map(({ ms }) => ms)),
    confusion: table,
    buckets,
    wrong,
  };
}

/** The nearness figures of a model, so that a test can judge confidence without it. `of` says what texts they belong to. */
async function writeNearness(embedder: Embedder): Promise<void> {
  const vectors = await makeBaseVectors(embedder)("bench", ROUTING_BASES);
  const nearness: Record<string, Record<string, number>> = {};
  for (const { text } of [...routingQuestions("chosen"), ...routingQuestions("reported")]) {
    const figures = nearnessOf(await embedder.embedQuestion(text), vectors);
    nearness[text] = Object.fromEntries(figures.map(({ prefix, nearness: figure }) => [prefix, Number(figure.toFixed(3))] as const));
  }
  const of = createHash("sha256")
    .update(JSON.stringify([NEUTRAL_SENTENCES, ROUTING_BASES]))
    .digest("hex");
  const file = new URL("../test/nodes/routing-nearness.json", import.meta.url);
  await writeFile(file, `${JSON.stringify({ embedder: embedder.name, of, nearness }, null, 2)}\n`);
}

/** `npm run bench routing`: how often a turn goes to the right base, by words alone and with an embedder, and what confidence is worth. */
export async function benchRouting(): Promise<void> {
  const [builtIn, real] = await openEmbedders();
  const contenders: [string, Embedder | null][] = [
    ["rule", null],
    ["rule + built in", builtIn ?? null],
  ];
  if (real) contenders.push([`rule + ${process.env["EMBEDDING_MODEL"]}`, real]);
  if (real && process.env["BENCH_WRITE_NEARNESS"]) await writeNearness(real);
  const rows: object[] = [];
  for (const half of ["chosen", "reported"] as const)
    for (const [name, embedder] of contenders) rows.push(await measure(name, embedder, half));
  await writeResults("routing", { rows });
}
