import type { Embedder } from "../../models/embedder.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { ChunkStore, StoredPassage } from "../../stores/postgres/knowledge/chunk-store.ts";
import type { DocumentPlace } from "../../stores/postgres/knowledge/document-store.ts";
import { knowledgeKey } from "../../stores/index-keys.ts";
import { lexicalQuery } from "../../text/lexical-text.ts";
import type { ServingIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchHit, SearchIndex } from "../../stores/search/contract/search-index.ts";
import { completeQuestion } from "../recall/complete-question.ts";
import { bestFirst, loadBest, type RankedHit, rankHits, searchBoth, strongMatcher } from "../recall/rank-hits.ts";
import { makeCircuitBreaker } from "../recall/circuit-breaker.ts";

export interface FindPassagesParts {
  index: ServingIndex;
  chunks: Pick<ChunkStore, "load">;
  embedder: Pick<Embedder, "embedQuestion" | "vectorWeight" | "minSimilarity">;
  /** Called with the error of each failing leg, and its name. */
  onError?: ((error: unknown, work: string) => void) | undefined;
  observer?: Observer;
}

export interface PassageRequest extends DocumentPlace {
  question: string;
  /** The last messages, oldest first: they complete a question that points back. */
  recent?: readonly { role: "user" | "assistant"; content: string }[];
  /** `hybrid` searches by words and meaning, `vectors` by meaning alone. */
  by: "hybrid" | "vectors";
  limit: number;
  signal?: AbortSignal | undefined;
}

export interface FoundPassage extends StoredPassage {
  /** Comparable within one search only. */
  score: number;
}

export interface FoundPassages {
  passages: FoundPassage[];
  /** One or both legs of the search failed. */
  degraded: boolean;
}

/** Finds the passages of a knowledge base that fit a question. */
export type FindPassages = (request: PassageRequest) => Promise<FoundPassages>;

const LEG_LIMIT = 100;
/** Passages loaded to replace those whose version is unpublished or gone. */
const SPARE = 40;
const NO_TALK = { neighbour: 0, neighbourOfOwn: 0, neighbourMeaning: 0, wordless: 1, time: 0, span: 0, importance: 0, recency: 0 };
/** Tuned in docs/decisions/0010. */
const DOCUMENT_SHARE = 0.4;

/** Searches by words and by meaning side by side. Texts come from Postgres, without deleted or replaced documents. */
export function makeFindPassages(parts: FindPassagesParts): FindPassages {
  const { index, chunks, embedder, onError = () => undefined, observer = NOOP_OBSERVER } = parts;
  const askWords = makeCircuitBreaker("passage_words", observer);
  const askVectors = makeCircuitBreaker("passage_vectors", observer);
  const askEmbedder = makeCircuitBreaker("passage_embedder", observer);
  const opened = async (): Promise<SearchIndex> => index.open(await index.name());
  const near = embedder.minSimilarity ?? 0.5;

  return async function findPassages({ tenantId, prefix, question, recent = [], by, limit, signal }) {
    const complete = completeQuestion(question, [...recent]);
    const query = lexicalQuery(complete);
    const filter = { ownerKey: knowledgeKey(tenantId, prefix) };
    const searchWords = async (): Promise<SearchHit[]> => {
      if (by === "vectors" || query === "") return [];
      return askWords(async () => (await opened()).searchWords(filter, query, LEG_LIMIT), signal);
    };
    const searchVectors = async (): Promise<SearchHit[]> => {
      const embedding = await askEmbedder(() => embedder.embedQuestion(complete, signal), signal);
      return askVectors(async () => (await opened()).searchVectors(filter, embedding, LEG_LIMIT), signal);
    };
    const { wordHits, vectorHits, degraded } = await searchBoth(searchWords(), searchVectors(), (error, leg) =>
      onError(error, `the search for passages ${leg}`),
    );
    // The weight is meant for talk. It is squared because weak vectors say less about long texts.
    const ranked = rankHits({
      wordHits,
      vectorHits,
      weights: { ...NO_TALK, vector: by === "vectors" ? 1 : embedder.vectorWeight ** 2 },
      now: new Date(),
      time: null,
    });
    const evidence = { found: ranked.length, query, near, time: null };
    const relevant = boostByDocument(ranked.filter(({ words: bm25, nearness }) => bm25 !== null || (nearness ?? -1) >= near));
    const wanted = relevant.some(strongMatcher(evidence)) ? relevant.slice(0, limit + SPARE) : [];
    const found = await loadBest(wanted, limit, (some) =>
      chunks.load(
        { tenantId, prefix },
        some.map(({ hit }) => hit.id),
      ),
    );
    return { passages: found.map(({ text, score }) => ({ ...text, score })), degraded };
  };
}

/**
 * Adds to each passage a share of its document's next best score: several fitting passages make a document likelier. It does not follow a
 * search by meaning alone, where passages under one title are alike.
 */
function boostByDocument(ranked: readonly RankedHit[]): RankedHit[] {
  if (ranked.every(({ words }) => words === null)) return [...ranked];
  const ofDocument = Map.groupBy(ranked, ({ hit }) => hit.groupId);
  const boosted = ranked.map((candidate): RankedHit => {
    const other = ofDocument.get(candidate.hit.groupId)?.find((one) => one !== candidate);
    return { ...candidate, score: candidate.score + DOCUMENT_SHARE * Math.max(0, other?.score ?? 0) };
  });
  return boosted.sort(bestFirst);
}
