import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import type { Embedder } from "./embedder.ts";
import { startDeadline } from "../turn/deadlines.ts";
import { postForEvents } from "./wire/post-for-events.ts";
import { answeredError, serverWords } from "./wire/server-words.ts";
import { findAmendment, findBatch, MOST_AMENDMENTS } from "./wire/amendments.ts";
import { amendmentsOf, type Dialects, learnedBatch, type Lesson, makeDialects } from "./wire/dialects.ts";
import { isOverload } from "./wire/failure-reason.ts";
import { type Gateway, serverHeaders, serverName, serverUrl, withV1 } from "./wire/server-address.ts";
import { readFailure, ServerFailure } from "./wire/server-failure.ts";

/** A wrong request, not a busy or failing server. llama.cpp answers 501 unless started with `--embeddings`. */
const isRefusal = (status: number): boolean => status >= 400 && !isOverload(status);

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
  const said = answered && serverWords(answered, sent);
  const says = (status === 400 || status === 422) && said ? ` It says "${said}".` : "";
  return new AppError("embedder_unavailable", `${message}${says}`, { cause, serverWords: said });
}

function badAnswer(what: string): AppError {
  return new AppError("embedder_unavailable", `The embedding model's server ${what}. Check EMBEDDING_MODEL and EMBEDDING_BASE_URL.`);
}

function normalised(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  if (!(length > 0 && Number.isFinite(length))) throw badAnswer("sent a vector without a direction");
  return vector.map((value) => value / length);
}

/** Numbers, or base64 of little-endian 32-bit floats, which some servers send unasked. */
const Vector = z.union([z.array(z.number()), z.string().transform(fromBase64)]).refine(({ length }) => length > 0);
const Embeddings = z.object({ data: z.array(z.object({ index: z.unknown().optional(), embedding: Vector })) });

function fromBase64(text: string): number[] {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, place) => bytes.readFloatLE(place * 4));
}

/** The vectors in the order of the texts, at length 1. Throws AppError `embedder_unavailable` unless there are `count` alike. */
function readEmbeddings(answer: unknown, count: number): number[][] {
  const parsed = Embeddings.safeParse(answer);
  if (!parsed.success) throw badAnswer("sent something that is not an answer to an embedding request");
  const { data } = parsed.data;
  if (data.length !== count) throw badAnswer(`sent ${data.length} vectors for ${count} texts`);
  // Servers without an index, or with one index for all, answer in order.
  const places = data.map(({ index }) => (typeof index === "string" && index !== "" ? Number(index) : (index ?? 0)));
  const inOrder = new Set(places).size === 1 ? data : data.map((_, place) => data[places.indexOf(place)]);
  return inOrder.map((one) => {
    if (!one) throw badAnswer("numbered its vectors wrongly");
    if (one.embedding.length !== inOrder[0]?.embedding.length) throw badAnswer("sent vectors of different lengths");
    return normalised(one.embedding);
  });
}

/** For models with a context of 512 tokens. */
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
export interface OpenAIEmbedderOptions extends Gateway {
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
  /** The most texts of one request. Default: 64, and fewer when the server has refused so many. */
  batch?: number | undefined;
  /** Keeps what the server teaches. Default: the embedder does. */
  dialects?: Dialects | undefined;
  /** Milliseconds for one request. */
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
/** E5's cosines lie between 0.7 and 0.95. */
const MIN_SIMILARITY_OF_E5 = 0.86;
const IS_E5 = /(?:^|[^a-z0-9])e5(?:[^a-z0-9]|$)/i;

function inRequests(texts: readonly string[], most: number): string[][] {
  const requests: string[][] = [];
  let characters = 0;
  for (const text of texts) {
    const last = requests.at(-1);
    characters += text.length;
    if (last !== undefined && last.length < most && characters <= CHARACTERS_PER_REQUEST) {
      last.push(text);
    } else {
      requests.push([text]);
      characters = text.length;
    }
  }
  return requests;
}

/** Opens an embedder behind a server of OpenAI's protocol. Throws AppError `embedder_unavailable`, or the signal's reason. */
export async function openOpenAIEmbedder(options: OpenAIEmbedderOptions): Promise<Embedder> {
  const { baseUrl = "https://api.openai.com/v1", apiKey, model, timeoutMs } = options;
  const { questionModel = model, questionPrefix = "", passagePrefix = "" } = options;
  const asked = options.dimensions === undefined ? {} : { dimensions: options.dimensions };
  const { dialects = makeDialects() } = options;
  const served = { server: serverName(baseUrl), model };
  const most = (): number => Math.min(options.batch ?? Infinity, learnedBatch(dialects.of(served)) ?? options.batch ?? TEXTS_PER_REQUEST);

  /** Asks once, as the server wants it. Throws ServerFailure, or the connection's error. */
  async function attempt(body: Record<string, unknown>, url: URL, signal: AbortSignal): Promise<unknown> {
    const headers = serverHeaders(url, apiKey, options);
    const answer = await postForEvents({ url, headers, body: JSON.stringify(body), signal });
    if (answer.status < 200 || answer.status > 299) throw await readFailure(answer);
    const text = await answer.text();
    try {
      return JSON.parse(text);
    } catch {
      throw badAnswer("sent something that is not an answer to an embedding request");
    }
  }

  /** Amends a refused request, at most three times, and remembers what helped. Divides a batch that is too large. */
  async function ask(ofModel: string, input: readonly string[], signal: AbortSignal): Promise<number[][]> {
    const tried: { what: Lesson; words: string }[] = [];
    for (;;) {
      const known = [...dialects.of(served), ...tried];
      const amendments = amendmentsOf([], known);
      const size = Math.min(learnedBatch(known) ?? Infinity, input.length);
      const texts = input.slice(0, size);
      const body = {
        ...{ model: ofModel, input: texts },
        ...(amendments.has("no_encoding_format") ? {} : { encoding_format: "float" }),
        ...(amendments.has("no_dimensions") ? {} : asked),
      };
      const plain = serverUrl(baseUrl, "/embeddings");
      try {
        const vectors = readEmbeddings(await attempt(body, amendments.has("v1_path") ? withV1(plain) : plain, signal), texts.length);
        for (const { what, words } of tried) dialects.learn(served, what, words);
        return size < input.length ? [...vectors, ...(await ask(ofModel, input.slice(size), signal))] : vectors;
      } catch (error) {
        if (!(error instanceof ServerFailure)) throw error;
        const batch = findBatch(error, texts.length);
        const what = batch === null ? findAmendment(error, { body, url: plain, asked: new Set() }) : (`batch_of_${batch}` as const);
        const isKnown = what === null || known.some((one) => one.what === what);
        if (isKnown || (batch === null && tried.filter((one) => !one.what.startsWith("batch_of_")).length === MOST_AMENDMENTS)) throw error;
        tried.push({ what, words: serverWords(error, input) });
      }
    }
  }

  async function request(ofModel: string, input: readonly string[], signal: AbortSignal | undefined): Promise<number[][]> {
    signal?.throwIfAborted();
    using deadline = startDeadline(timeoutMs, signal);
    try {
      return await ask(ofModel, input, deadline.signal);
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
      for (const input of inRequests(
        texts.map((text) => passagePrefix + truncateForEmbedding(text)),
        most(),
      )) {
        vectors.push(...checked(await request(model, input, signal)));
      }
      return vectors;
    },
  };
}
