import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Embedder } from "../../models/embedder.ts";
import { makeHashedEmbedder } from "../../models/offline/hashed-embedder.ts";
import { createOpenAIChatModel } from "../../models/openai-chat-model.ts";
import { openOpenAIEmbedder } from "../../models/openai-embedder.ts";
import { makeReranker, type Rerank } from "../../models/reranker.ts";
import type { Config } from "./config.ts";

const OPENAI_URL = "https://api.openai.com/v1";
/** Chooses the built-in embedder also beside a model's server. */
const BUILT_IN = "built-in";
const DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small";

/** A summary, or a section of core memory with its reasons, is never cut because answers are kept short. */
const LEAST_UNSEEN_TOKENS = 4_000;

export function usesModelServer({ OPENAI_API_KEY, OPENAI_BASE_URL }: Config): boolean {
  return OPENAI_API_KEY !== undefined || OPENAI_BASE_URL !== undefined;
}

export type Models = ReturnType<typeof createModels>;

/** By purpose; null without a model's server: then the offline model answers. */
export function createModels(config: Config) {
  const { CHAT_MODEL, OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl } = config;
  const hasServer = usesModelServer(config);
  const create = (model: string | undefined, maxTokens: number): BaseChatModel | null =>
    hasServer ? createOpenAIChatModel({ model: model ?? CHAT_MODEL, apiKey, baseUrl, maxTokens }) : null;
  const { MAX_ANSWER_TOKENS: longest } = config;
  const unseen = Math.max(longest, LEAST_UNSEEN_TOKENS);
  return {
    chat: create(CHAT_MODEL, longest),
    router: create(config.ROUTER_MODEL, unseen),
    summary: create(config.SUMMARY_MODEL, unseen),
    memory: create(config.MEMORY_MODEL, unseen),
    timeouts: { firstTokenMs: config.MODEL_FIRST_TOKEN_TIMEOUT_MS, idleMs: config.MODEL_IDLE_TIMEOUT_MS },
    server: hasServer ? chatServer(config) : null,
    /** Null with the built-in embedder. */
    embeddingServer: usesEmbeddingServer(config) ? embeddingServer(config) : null,
    /** For people. */
    description: hasServer ? `${CHAT_MODEL} at ${baseUrl ?? "OpenAI"}` : "offline",
  };
}

export function usesEmbeddingServer({ EMBEDDING_MODEL, EMBEDDING_BASE_URL, OPENAI_BASE_URL, OPENAI_API_KEY }: Config): boolean {
  return EMBEDDING_MODEL !== BUILT_IN && (EMBEDDING_BASE_URL ?? OPENAI_BASE_URL ?? OPENAI_API_KEY) !== undefined;
}

export interface ModelServer {
  url: string;
  apiKey: string | undefined;
}

export function chatServer({ OPENAI_BASE_URL: url = OPENAI_URL, OPENAI_API_KEY: apiKey }: Config): ModelServer {
  return { url, apiKey };
}

export function embeddingServer(config: Config): ModelServer {
  const { url, apiKey } = chatServer(config);
  return { url: config.EMBEDDING_BASE_URL ?? url, apiKey: config.EMBEDDING_API_KEY ?? apiKey };
}

export function embeddingModels(config: Config): { model: string; questionModel: string } {
  if (!usesEmbeddingServer(config)) return { model: BUILT_IN, questionModel: BUILT_IN };
  const model = config.EMBEDDING_MODEL ?? DEFAULT_EMBEDDING_MODEL;
  return { model, questionModel: config.EMBEDDING_QUERY_MODEL ?? model };
}

/** Throws AppError `embedder_unavailable` when a server that is unreachable knows the dimensions. */
export async function openEmbedder(config: Config, knownDimensions?: number): Promise<Embedder> {
  if (!usesEmbeddingServer(config)) return makeHashedEmbedder({});
  const { url: baseUrl, apiKey } = embeddingServer(config);
  return openOpenAIEmbedder({
    ...embeddingModels(config),
    baseUrl,
    apiKey,
    questionPrefix: config.EMBEDDING_QUERY_PREFIX ?? "",
    passagePrefix: config.EMBEDDING_PASSAGE_PREFIX ?? "",
    dimensions: config.EMBEDDING_DIMENSIONS,
    knownDimensions,
    timeoutMs: config.MODEL_FIRST_TOKEN_TIMEOUT_MS,
  });
}

export function openReranker({ RERANK_BASE_URL: baseUrl, RERANK_API_KEY: apiKey, RERANK_MODEL: model }: Config): Rerank | undefined {
  return baseUrl === undefined ? undefined : makeReranker({ baseUrl, apiKey, model });
}
