import { OpenAIClient } from "@langchain/openai";
import { AppError } from "../errors/app-error.ts";
import { cutForEmbedding } from "./cut-for-embedding.ts";
import type { Embedder } from "./embedder.ts";
import { toEmbedderError } from "./embedder-error.ts";
import { readEmbeddings } from "./read-embeddings.ts";
import { startDeadline } from "./start-deadline.ts";

/** A model of embeddings, where its server is, and what its texts need. */
export interface OpenAIEmbedderOptions {
  /** Unset: OpenAI's own server. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  /** Embeds passages. */
  model: string;
  /** Embeds questions. Default: `model`. */
  questionModel?: string | undefined;
  /** Put before every question; E5, say, was trained with "query: ". Default: nothing. */
  questionPrefix?: string | undefined;
  /** Put before every passage. Default: nothing. */
  passagePrefix?: string | undefined;
  /** Asked of the server with every request: models that can give shorter vectors then do. Default: as the model has. */
  dimensions?: number | undefined;
  /** What the model has, as far as it is known from before. Default: known of OpenAI's models, else found out by one request. */
  knownDimensions?: number | undefined;
  /** Milliseconds of one request with up to 64 texts. */
  timeoutMs: number;
}

const DIMENSIONS: Readonly<Record<string, number>> = {
  "text-embedding-3-small": 1536,
  "text-embedding-3-large": 3072,
  "text-embedding-ada-002": 1536,
};
const TEXTS_PER_REQUEST = 64;
/** A model on a processor without a graphics card reads about 2,000 words a second: a request of long texts must end before its deadline. */
const CHARACTERS_PER_REQUEST = 20_000;

const VECTOR_WEIGHT = 0.75;
/** Chosen on half of the questions of seven data sets: benchmarks/README.md, recall. */
const VECTOR_WEIGHT_OF_E5 = 0.625;
/** E5's cosines lie between 0.7 and 0.95: of unrelated questions, 95 % find nothing above this that shares no word (benchmarks, recall). */
const MIN_SIMILARITY_OF_E5 = 0.86;
const IS_E5 = /(?:^|[^a-z0-9])e5(?:[^a-z0-9]|$)/i;

/** The texts in requests of at most so many texts and characters, in their order. */
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
 * An embedder behind any server that speaks OpenAI's protocol. Opening it asks the server only when the dimensions are not known. Throws
 * AppError `embedder_unavailable`; an aborted call throws the signal's reason.
 */
export async function openOpenAIEmbedder(options: OpenAIEmbedderOptions): Promise<Embedder> {
  const { baseUrl = "https://api.openai.com/v1", apiKey = "none", model, timeoutMs } = options;
  const { questionModel = model, questionPrefix = "", passagePrefix = "" } = options;
  const client = new OpenAIClient({ baseURL: baseUrl, apiKey, maxRetries: 0, timeout: timeoutMs, logLevel: "off" });
  const asked = options.dimensions === undefined ? {} : { dimensions: options.dimensions };

  async function request(ofModel: string, input: string[], signal: AbortSignal | undefined): Promise<number[][]> {
    signal?.throwIfAborted();
    using deadline = startDeadline(timeoutMs, signal); // the client's own ends when the headers have come
    try {
      const answer = await client.embeddings.create(
        { model: ofModel, input, encoding_format: "float", ...asked },
        { signal: deadline.signal },
      );
      return readEmbeddings(answer, input.length);
    } catch (error) {
      signal?.throwIfAborted();
      throw toEmbedderError(error);
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
    // Another prefix makes other vectors, as another model does.
    name: passagePrefix === "" ? model : `${model} after ${JSON.stringify(passagePrefix)}`,
    dimensions,
    ...(IS_E5.test(model) ? { vectorWeight: VECTOR_WEIGHT_OF_E5, minSimilarity: MIN_SIMILARITY_OF_E5 } : { vectorWeight: VECTOR_WEIGHT }),
    async embedQuestion(text, signal) {
      const [vector = []] = checked(await request(questionModel, [questionPrefix + cutForEmbedding(text)], signal));
      return vector;
    },
    async embedPassages(texts, signal) {
      const vectors: number[][] = [];
      for (const input of inRequests(texts.map((text) => passagePrefix + cutForEmbedding(text)))) {
        vectors.push(...checked(await request(model, input, signal)));
      }
      return vectors;
    },
  };
}
