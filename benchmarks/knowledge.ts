import { defineBench, EMBEDDER_ENVIRONMENT } from "./support/bench.ts";
import type { Measured } from "./support/results.ts";
import type { Embedder } from "../models/embedder.ts";
import { openKnowledgeBase } from "./support/knowledge/open-base.ts";
import { type CorpusDocument, readCorpus } from "./support/knowledge/read-corpus.ts";
import { askKnowledge, askUnrelatedKnowledge, placeFigures } from "./support/knowledge/figures.ts";
import { goldChunks } from "./support/knowledge/gold-chunks.ts";
import { measureNode } from "./support/knowledge/measure-node.ts";
import { KNOWLEDGE_QUESTIONS, UNRELATED_TO_KNOWLEDGE } from "./support/knowledge/questions.ts";
import { openEmbedders } from "./support/open-embedders.ts";
import type { Progress } from "./support/progress.ts";
import { type Figure, figureOf } from "./support/figures.ts";

const MIN_DOCUMENTS = 150;

/** The retrieve node is measured only where `node` says how: a model's own time would be most of it. */
async function measure(
  embedder: Embedder,
  documents: readonly CorpusDocument[],
  node: { rounds: number; chunks: number } | null,
  progress: Progress,
): Promise<Figure[]> {
  await using base = await openKnowledgeBase(embedder);
  const tookMs = await base.bringIn(documents, (done) => progress.step(`${embedder.name}: documents`, done, documents.length));
  const chunks = await base.listChunks();
  const gold = goldChunks(KNOWLEDGE_QUESTIONS, documents, chunks);
  const figures: Figure[] = [];
  for (const legs of ["keywords", "vectors", "fused"] as const) {
    progress.step(`${embedder.name}: asking, ${legs}`);
    const { asked, times } = await askKnowledge(base.find(legs), gold);
    figures.push(...placeFigures(asked, `${legs}, ${embedder.name}`));
    // With both legs: the embedder has the question's vector from those before.
    if (legs === "fused") figures.push(figureOf(`one search, ${embedder.name}`, "ms", [times]));
  }
  const answered = await askUnrelatedKnowledge(base.find("fused"));
  const seconds = tookMs / 1_000;
  const questions = KNOWLEDGE_QUESTIONS.map(({ text }) => text);
  const onProgress = (text: string): void => progress.step(text);
  return [
    ...figures,
    figureOf(`unrelated questions answered of ${UNRELATED_TO_KNOWLEDGE.length}, ${embedder.name}`, "questions", [[answered.length]]),
    figureOf(`brought in, ${embedder.name}`, "documents/s", [[documents.length / seconds]]),
    figureOf(`brought in, ${embedder.name}`, "chunks/s", [[chunks.length / seconds]]),
    ...(node ? await measureNode(base, { ...node, documents, questions, onProgress }) : []),
  ];
}

async function run({ rounds, chunks }: Record<"rounds" | "chunks", number>, progress: Progress): Promise<Measured> {
  const documents = await readCorpus();
  if (documents.length < MIN_DOCUMENTS)
    throw new Error(`Only ${documents.length} packages have a README that can be used, fewer than ${MIN_DOCUMENTS}. Run npm ci.`);
  const figures: Figure[] = [];
  for (const [position, embedder] of (await openEmbedders()).entries())
    figures.push(...(await measure(embedder, documents, position === 0 && rounds > 0 ? { rounds, chunks } : null, progress)));
  return { figures, notes: [`${documents.length} READMEs; every fourth question is for tuning, the others are reported.`] };
}

export const knowledge = defineBench({
  asks: "Is the section of the documents found that answers a question, and what does bringing in and searching cost",
  minutes: { short: 2, long: 6 },
  numbers: {
    rounds: { of: "rounds of the retrieve node; 0 leaves it out", short: 50, long: 200 },
    chunks: { of: "chunks in the base by then", short: 3_000, long: 10_000 },
  },
  environment: EMBEDDER_ENVIRONMENT,
  run,
});
