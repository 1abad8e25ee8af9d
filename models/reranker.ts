import { z } from "zod";
import { startDeadline } from "../turn/deadlines.ts";
import { truncateForEmbedding } from "./openai-embedder.ts";
import { type PostAnswer, postForEvents } from "./wire/post-for-events.ts";

/** Scores how well each text answers the question. Throws when the server fails or is too slow. */
export type Rerank = (question: string, texts: readonly string[], signal?: AbortSignal) => Promise<number[]>;

export interface RerankerOptions {
  /** Requests go to `/rerank` below it. */
  baseUrl: string;
  apiKey?: string | undefined;
  model?: string | undefined;
  /** Default 300. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 300;
/** The answers of a server that wants other fields. */
const REFUSALS = new Set([400, 422]);

const Ranks = z.array(z.object({ index: z.int().nonnegative(), score: z.number().optional(), relevance_score: z.number().optional() }));
/** TEI answers with the list itself. */
const RerankAnswer = z.union([Ranks, z.object({ results: Ranks }).transform(({ results }) => results)]);

function readScores(answer: unknown, count: number): number[] {
  const scores = new Array<number>(count).fill(Number.NaN);
  for (const { index, score, relevance_score } of RerankAnswer.parse(answer)) scores[index] = relevance_score ?? score ?? Number.NaN;
  if (scores.length === count && scores.every(Number.isFinite)) return scores;
  throw new Error(`The reranker gave no score to some of ${count} texts. Check RERANK_BASE_URL and RERANK_MODEL.`);
}

/** A cross-encoder behind the `/rerank` of vLLM, Jina and Cohere, or TEI's, whose field has another name. */
export function makeReranker({ baseUrl, apiKey, model, timeoutMs = TIMEOUT_MS }: RerankerOptions): Rerank {
  const url = new URL(`${baseUrl.replace(/\/$/, "")}/rerank`);
  const headers = { "content-type": "application/json", ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }) };
  const bodies = [
    (query: string, texts: string[]) => ({ ...(model === undefined ? {} : { model }), query, documents: texts }),
    (query: string, texts: string[]) => ({ query, texts, truncate: true }),
  ];
  let known = 0;

  return async function rerank(question, texts, signal) {
    using deadline = startDeadline(timeoutMs, signal);
    const ask = (form: number): Promise<PostAnswer> => {
      const body = bodies[form]?.(truncateForEmbedding(question), texts.map(truncateForEmbedding));
      return postForEvents({ url, headers, body: JSON.stringify(body), signal: deadline.signal });
    };
    let answer = await ask(known);
    if (REFUSALS.has(answer.status)) {
      await answer.text(); // frees the connection
      const other = 1 - known;
      answer = await ask(other);
      if (answer.status === 200) known = other;
    }
    const text = await answer.text();
    if (answer.status !== 200)
      throw new Error(`The reranker's server answered with status ${answer.status}. Check RERANK_BASE_URL and RERANK_MODEL.`);
    return readScores(JSON.parse(text), texts.length);
  };
}
