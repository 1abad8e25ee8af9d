import { OpenAIClient } from "@langchain/openai";
import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import type { Embedder } from "./embedder.ts";
import { startDeadline } from "./deadlines.ts";
import { answeredError, serverWords } from "./server-words.ts";

/** A wrong request, as opposed to a busy or failing server. llama.cpp answers 501 unless it was started with `--embeddings`. */
const isRefusal = (status: number): boolean => (status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status)) || status === 501;

function toEmbedderError(cause: unknown, sent: readonly string[]): AppError {
  if (cause instanceof AppError) return cause;
  const answered = answeredError(cause);
  const status = answered?.status;
  const message =
    status === undefined
      ? "The embedding model's server cannot be reached, or gave no proper answer in time. Check EMBEDDING_BASE_URL, or try again in a while."
      : isRefusal(status)
        ? `The embedding model's server refused the request with status ${status}. Check EMBEDDING_MODEL, EMBEDDING_DIMENSIONS, EMBEDDING_BASE_URL and EMBEDDING_API_KEY, or set EMBEDDING_MODEL=built-in, which needs no server.`
        : `The embedding model's server answered with status ${status}. Try again in a while.`;
  return new AppError("embedder_unavailable", message, { cause, serverWords: answered && serverWords(answered, sent) });
}

function badAnswer(what: string): AppError {
  return new AppError("embedder_unavailable", `The embedding model's server ${what}. Check EMBEDDING_MODEL and EMBEDDING_BASE_URL.`);
}

function normalised(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  if (!(length > 0 && Number.isFinite(length))) throw badAnswer("sent a vector without a direction");
  return vector.map((value) => value / length);
}

const Embeddings = z.object({ data: z.array(z.object({ index: z.number().nullish(), embedding: z.array(z.number()).min(1) })) });

/** The vectors in the order of the texts, at length 1. Throws AppError `embedder_unavailable` unless there are `count` alike. */
function readEmbeddings(answer: unknown, count: number): number[][] {
  const parsed = Embeddings.safeParse(answer);
  if (!parsed.success) throw badAnswer("sent something that is not an answer to an embedding request");
  const { data } = parsed.data;
  if (data.length !== count) throw badAnswer(`sent ${data.length} vectors for ${count} texts`);
  // Servers that leave the index out answer in order.
  const byIndex = new Map(data.map(({ index, embedding }, position) => [index ?? position, embedding]));
  return Array.from({ length: count }, (_, index) => {
    const vector = byIndex.get(index);
    if (!vector) throw badAnswer("numbered its vectors wrongly");
    if (vector.length !== byIndex.get(0)?.length) throw badAnswer("sent vectors of different lengths");
    return normalised(vector);
  });
}

/** What models of 512 tokens read. */
const MAX_WORDS = 400;
const MAX_CHARACTERS = 1_500;
const ROOM = MAX_WORDS * MAX_CHARACTERS;
/** A longer word counts as several. */
const LETTERS_OF_A_WORD = 8;
const PIECE =
  /(?<character>[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{1,32}/gu;

/** Cuts a text to about 400 words or 1,500 Chinese characters. Never empty, since servers refuse empty texts. */
export function truncateForEmbedding(text: string): string {
  const whole = text.slice(0, MAX_WORDS * 32).toWellFormed();
  let used = 0;
  for (const { 0: piece, index, groups } of whole.matchAll(PIECE)) {
    used += groups?.character === undefined ? Math.ceil(piece.length / LETTERS_OF_A_WORD) * MAX_CHARACTERS : MAX_WORDS;
    if (used > ROOM) return whole.slice(0, index).trim();
  }
  return whole.trim() || ".";
}

/** An embedding model, its server and the prefixes of its texts. */
export interface OpenAIEmbedderOptions {
  /** Default: OpenAI's server. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  model: string;
  /** Default: `model`. */
  questionModel?: string | undefined;
  /** "query: " for E5. Default: nothing. */
  questionPrefix?: string | undefined;
  /** Default: nothing. */
  passagePrefix?: string | undefined;
  /** Sent with every request. Default: the model's own. */
  dimensions?: number | undefined;
  /** Not sent. Default: those of OpenAI's models, else one request asks. */
  knownDimensions?: number | undefined;
  /** Milliseconds for one request of up to 64 texts. */
  timeoutMs: number;
}

const DIMENSIONS: Readonly<Record<string, number>> = {
  "text-embedding-3-small": 1536,
  "text-embedding-3-large": 3072,
  "text-embedding-ada-002": 1536,
};
const TEXTS_PER_REQUEST = 64;
/** A model without a graphics card reads about 2,000 words a second. */
const CHARACTERS_PER_REQUEST = 20_000;

const VECTOR_WEIGHT = 0.75;
const VECTOR_WEIGHT_OF_E5 = 0.625;
/** E5's cosines lie between 0.7 and 0.95; 95 % of unrelated questions find nothing above this. */
const MIN_SIMILARITY_OF_E5 = 0.86;
const IS_E5 = /(?:^|[^a-z0-9])e5(?:[^a-z0-9]|$)/i;

function inRequests(texts: readonly string[]): string[][] {
  const requests: string[][] = [];
  let characters = 0;
  for (const text of texts) {
    const last = requests.at(-1);
    characters += text.length;
    if (last !== undefined && last.length < TEXTS_PER_REQUEST && characters <= CHARACTERS_PER_REQUEST) {
      last.push(text);
    } else {
      requests.push([text]);
      characters = text.length;
    }
  }
  return requests;
}

/**
 * Opens an embedder behind a server of OpenAI's protocol. Throws AppError `embedder_unavailable`; an aborted call throws the signal's
 * reason.
 */
export async function openOpenAIEmbedder(options: OpenAIEmbedderOptions): Promise<Embedder> {
  const { baseUrl = "https://api.openai.com/v1", apiKey = "none", model, timeoutMs } = options;
  const { questionModel = model, questionPrefix = "", passagePrefix = "" } = options;
  const client = new OpenAIClient({ baseURL: baseUrl, apiKey, maxRetries: 0, timeout: timeoutMs, logLevel: "off" });
  const asked = options.dimensions === undefined ? {} : { dimensions: options.dimensions };

  async function request(ofModel: string, input: string[], signal: AbortSignal | undefined): Promise<number[][]> {
    signal?.throwIfAborted();
    using deadline = startDeadline(timeoutMs, signal); // the client's own ends with the headers
    try {
      const answer = await client.embeddings.create(
        { model: ofModel, input, encoding_format: "float", ...asked },
        { signal: deadline.signal },
      );
      return readEmbeddings(answer, input.length);
    } catch (error) {
      signal?.throwIfAborted();
      throw toEmbedderError(error, input);
    }
  }

  const known = options.dimensions ?? options.knownDimensions ?? DIMENSIONS[model];
  const dimensions = known ?? (await request(model, [`${passagePrefix}How many numbers?`], undefined))[0]?.length ?? 0;

  function checked(vectors: number[][]): number[][] {
    const wrong = vectors.find(({ length }) => length !== dimensions);
    if (wrong === undefined) return vectors;
    const message = `The embedding model's server sent vectors of ${wrong.length} numbers instead of ${dimensions}. Check EMBEDDING_MODEL and EMBEDDING_DIMENSIONS.`;
    throw new AppError("embedder_unavailable", message);
  }

  return {
    // Another prefix makes other vectors, so the name has it.
    name: passagePrefix === "" ? model : `${model} after ${JSON.stringify(passagePrefix)}`,
    dimensions,
    favoursScripts: true,
    ...(IS_E5.test(model) ? { vectorWeight: VECTOR_WEIGHT_OF_E5, minSimilarity: MIN_SIMILARITY_OF_E5 } : { vectorWeight: VECTOR_WEIGHT }),
    async embedQuestion(text, signal) {
      const [vector = []] = checked(await request(questionModel, [questionPrefix + truncateForEmbedding(text)], signal));
      return vector;
    },
    async embedPassages(texts, signal) {
      const vectors: number[][] = [];
      for (const input of inRequests(texts.map((text) => passagePrefix + truncateForEmbedding(text)))) {
        vectors.push(...checked(await request(model, input, signal)));
      }
      return vectors;
    },
  };
}
