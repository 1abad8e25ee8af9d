import { EMBEDDER_ENVIRONMENT, defineBench } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import type { Embedder } from "../models/embedder.ts";
import { openKnowledgeBase } from "./support/knowledge/open-base.ts";
import { type CorpusDocument, readCorpus } from "./support/knowledge/read-corpus.ts";
import {
  type AskedKnowledge,
  askKnowledge,
  askUnrelatedKnowledge,
  knowledgeFigures,
  type KnowledgeFigures,
} from "./support/knowledge/figures.ts";
import { goldChunks } from "./support/knowledge/gold-chunks.ts";
import { type MeasuredNode, measureNode } from "./support/knowledge/measure-node.ts";
import { KNOWLEDGE_QUESTIONS, UNRELATED_TO_KNOWLEDGE } from "./support/knowledge/questions.ts";
import type { Legs } from "./support/recall/open-set.ts";
import { openEmbedders } from "./support/open-embedders.ts";
import type { Progress } from "./support/progress.ts";
import { distribution, type Distribution } from "./support/figures.ts";

const LEGS: readonly Legs[] = ["keywords", "vectors", "fused"];
const PARTS = {
  tuning: ({ question }: AskedKnowledge) => question.tuning,
  reported: ({ question }: AskedKnowledge) => !question.tuning,
  English: ({ question }: AskedKnowledge) => !question.tuning && question.language === "English",
  Chinese: ({ question }: AskedKnowledge) => !question.tuning && question.language === "Chinese",
};
type Part = keyof typeof PARTS;
const MIN_DOCUMENTS = 150;

interface MeasuredEmbedder {
  embedder: string;
  figures: Record<Legs, Record<Part, KnowledgeFigures>>;
  asked: Record<Legs, { text: string; sectionAt: number | null; documentAt: number | null }[]>;
  /** One search with both legs; the embedder has the question's vector from the legs before. */
  findMs: Distribution;
  unrelated: { asked: number; answered: string[] };
  ingest: { documents: number; chunks: number; documentsPerSecond: number; chunksPerSecond: number };
  /** Only with the built-in embedder: a model's own time would be most of it. */
  retrieveNode: MeasuredNode | null;
}

async function measure(
  embedder: Embedder,
  documents: readonly CorpusDocument[],
  node: { rounds: number; chunks: number } | null,
  progress: Progress,
): Promise<MeasuredEmbedder> {
  await using base = await openKnowledgeBase(embedder);
  const tookMs = await base.bringIn(documents, (done) => progress.step(`${embedder.name}: documents`, done, documents.length));
  const chunks = await base.listChunks();
  const gold = goldChunks(KNOWLEDGE_QUESTIONS, documents, chunks);
  const figures = {} as MeasuredEmbedder["figures"];
  const answers = {} as MeasuredEmbedder["asked"];
  let findTimes: number[] = [];
  for (const legs of LEGS) {
    progress.step(`${embedder.name}: asking, ${legs}`);
    const { asked, times } = await askKnowledge(base.find(legs), gold);
    const ofPart = (part: Part): [Part, KnowledgeFigures] => [part, knowledgeFigures(asked.filter(PARTS[part]))];
    figures[legs] = Object.fromEntries((Object.keys(PARTS) as Part[]).map(ofPart)) as Record<Part, KnowledgeFigures>;
    answers[legs] = asked.map(({ question, sectionAt, documentAt }) => ({ text: question.text, sectionAt, documentAt }));
    findTimes = times;
  }
  const unrelated = { asked: UNRELATED_TO_KNOWLEDGE.length, answered: await askUnrelatedKnowledge(base.find("fused")) };
  const seconds = tookMs / 1_000;
  const questions = KNOWLEDGE_QUESTIONS.map(({ text }) => text);
  return {
    embedder: embedder.name,
    figures,
    asked: answers,
    findMs: distribution(findTimes),
    unrelated,
    ingest: {
      documents: documents.length,
      chunks: chunks.length,
      documentsPerSecond: documents.length / seconds,
      chunksPerSecond: chunks.length / seconds,
    },
    retrieveNode: node && (await measureNode(base, { ...node, documents, questions, onProgress: (text) => progress.step(text) })),
  };
}

const percent = (share: number): string => (share * 100).toFixed(1);
const shown = ({ p50, p95 }: Distribution): string => `${p50.toFixed(1)} / ${p95.toFixed(1)}`;

function print(rows: readonly MeasuredEmbedder[]): void {
  console.log("\n| embedder | questions | search | section@5 | document@5 | section@4 | MRR |");
  console.log("| --- | --- | --- | --- | --- | --- | --- |");
  for (const { embedder, figures } of rows) {
    for (const part of Object.keys(PARTS) as Part[]) {
      for (const legs of LEGS) {
        const { questions, ...shares } = figures[legs][part];
        console.log(`| ${embedder} | ${part}, ${questions} | ${legs} | ${Object.values(shares).map(percent).join(" | ")} |`);
      }
    }
  }
  console.log("\n| embedder | unrelated questions answered | find ms (p50 / p95) | documents a second | chunks a second |");
  console.log("| --- | --- | --- | --- | --- |");
  for (const { embedder, unrelated, findMs, ingest } of rows) {
    const speed = `${ingest.documentsPerSecond.toFixed(1)} | ${ingest.chunksPerSecond.toFixed(0)}`;
    console.log(`| ${embedder} | ${unrelated.answered.length} of ${unrelated.asked} | ${shown(findMs)} | ${speed} |`);
  }
  for (const { embedder, retrieveNode: node } of rows) {
    if (!node) continue;
    console.log(`\n| retrieve node, ${embedder} | chunks | episodes | ms (p50 / p95) |\n| --- | --- | --- | --- |`);
    console.log(`| documents only | ${node.chunks} | – | ${shown(node.documentsOnlyMs)} |`);
    console.log(`| documents and episodes | ${node.chunks} | ${node.episodes} | ${shown(node.withEpisodesMs)} |`);
  }
}

async function run({ rounds, chunks }: Record<"rounds" | "chunks", number>, progress: Progress): Promise<Measured> {
  const documents = await readCorpus();
  if (documents.length < MIN_DOCUMENTS)
    throw new Error(`Only ${documents.length} packages have a README that can be used, fewer than ${MIN_DOCUMENTS}. Run npm ci.`);
  const rows: MeasuredEmbedder[] = [];
  for (const [position, embedder] of (await openEmbedders()).entries())
    rows.push(await measure(embedder, documents, position === 0 && rounds > 0 ? { rounds, chunks } : null, progress));
  print(rows);
  return { documents: documents.length, questions: KNOWLEDGE_QUESTIONS.length, results: rows };
}

export const knowledge = defineBench({
  asks: "Is the section of the documents found that answers a question, and what does bringing in and searching cost",
  minutes: { short: 2, long: 6 },
  numbers: {
    rounds: { of: "rounds of the retrieve node; 0 leaves it out", short: 50, long: 200 },
    chunks: { of: "chunks in the base by then", short: 3_000, long: 10_000 },
  },
  environment: EMBEDDER_ENVIRONMENT,
  printsTables: true,
  run,
});
