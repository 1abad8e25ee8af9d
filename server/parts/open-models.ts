import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Embedder } from "../../models/embedder.ts";
import { makeHashedEmbedder } from "../../models/offline/hashed-embedder.ts";
import { type ChooseModels, makeServerCircuit, type ModelChoice, type ServerCircuit } from "../../models/model-choice.ts";
import { type ModelSettings, nameSettings } from "../../models/model-error.ts";
import { OfflineChatModel } from "../../models/offline/offline-chat-model.ts";
import { ANTHROPIC_URL, AnthropicChatModel } from "../../models/anthropic-chat-model.ts";
import { createOpenAIChatModel } from "../../models/openai-chat-model.ts";
import { openOpenAIEmbedder } from "../../models/openai-embedder.ts";
import { type Dialects, makeDialects } from "../../models/wire/dialects.ts";
import type { Gateway } from "../../models/wire/server-address.ts";
import { makeReranker, type Rerank } from "../../models/reranker.ts";
import type { Agent } from "../../turn/agent.ts";
import type { Config } from "../settings/config.ts";
import { type ModelServer, ownGateway } from "../settings/model-server.ts";
import { type ListedModel, type ModelList, readModelList } from "../settings/read-model-list.ts";
import { readModelProfiles } from "../settings/read-model-profiles.ts";

const OPENAI_URL = "https://api.openai.com/v1";
/** Chooses the built-in embedder also beside a model's server. */
const BUILT_IN = "built-in";
export const OFFLINE = "offline";
const DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small";

/** A summary, or a section of core memory with its reasons, is never cut because answers are kept short. */
const LEAST_UNSEEN_TOKENS = 4_000;

/** The tasks of models; without its own model a task has the answers'. */
const SETTINGS_OF = { router: "ROUTER", summary: "SUMMARY", memory: "MEMORY" } as const;
export type Task = keyof typeof SETTINGS_OF;
const TASKS = Object.keys(SETTINGS_OF) as Task[];

export function usesModelServer({ OPENAI_API_KEY, OPENAI_BASE_URL }: Config): boolean {
  return OPENAI_API_KEY !== undefined || OPENAI_BASE_URL !== undefined;
}

/** A task's own settings, else those of answers. */
function settingsOf(config: Config, task: Task | "chat"): { model: string; baseUrl: string | undefined; apiKey: string | undefined } {
  const { CHAT_MODEL: model, OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey } = config;
  if (task === "chat") return { model, baseUrl, apiKey };
  const name = SETTINGS_OF[task];
  return {
    model: config[`${name}_MODEL`] ?? model,
    baseUrl: config[`${name}_BASE_URL`] ?? baseUrl,
    apiKey: config[`${name}_API_KEY`] ?? apiKey,
  };
}

/** Null: what is built in does the task. */
export function modelServer(config: Config, task: Task | "chat"): ModelServer | null {
  const { baseUrl, apiKey } = settingsOf(config, task);
  if (baseUrl === undefined && apiKey === undefined) return null;
  return { url: baseUrl ?? OPENAI_URL, apiKey, ...(baseUrl === config.OPENAI_BASE_URL ? ownGateway(config) : {}) };
}

function otherServers(config: Config): Partial<Record<Task, ModelServer>> {
  const chat = modelServer(config, "chat");
  const servers = TASKS.map((task) => [task, modelServer(config, task)] as const);
  return Object.fromEntries(servers.filter(([, server]) => server && (server.url !== chat?.url || server.apiKey !== chat.apiKey)));
}

/** For people. */
function describeModel(config: Config, task: Task | "chat"): string {
  const { model, baseUrl } = settingsOf(config, task);
  return modelServer(config, task) ? `${model} (${baseUrl ?? "OpenAI"})` : OFFLINE;
}

/** By use. */
export function modelNames(config: Config): Record<Task | "chat", string> {
  const nameOf = (task: Task | "chat"): string => (modelServer(config, task) ? settingsOf(config, task).model : OFFLINE);
  return { chat: nameOf("chat"), router: nameOf("router"), summary: nameOf("summary"), memory: nameOf("memory") };
}

/** The models of the server that answers. */
function namesAtChatServer(config: Config): string[] {
  const others = otherServers(config);
  const tasks = TASKS.filter((task) => !(task in others));
  return [...new Set([config.CHAT_MODEL, ...tasks.map((task) => settingsOf(config, task).model)])];
}

/** A model for each name of callers and agents, and for each temperature and bound of an agent. */
function makeChooseModels(config: Config, list: ModelList, make: MakeModel): ChooseModels {
  const ofService = settingsOf(config, "chat");
  const own = modelServer(config, "chat") ? ofService.model : OFFLINE;
  const offline = new OfflineChatModel();
  const made = new Map<string, BaseChatModel>();
  const circuits = new Map<string, ServerCircuit>();

  function choice(name: string, agent: Agent | null): ModelChoice {
    const listed = list[name];
    if (name === OFFLINE && !listed) return { name, model: offline };
    const server = serverOf(config, listed);
    const { url } = server;
    const { temperature, max_output_tokens: maxTokens = config.MAX_ANSWER_TOKENS } = agent ?? {};
    const key = JSON.stringify([name, temperature, maxTokens]);
    const model = made.get(key) ?? make({ name, model: listed?.model ?? name, server, temperature, maxTokens });
    made.set(key, model);
    if (listed) nameSettings(model, settingsInList(name, listed));
    const circuit = circuits.get(url) ?? makeServerCircuit();
    circuits.set(url, circuit);
    return { name, model, circuit };
  }

  return function chooseModels({ model, agent }) {
    const name = model ?? agent?.model ?? own;
    return [name, ...(list[name]?.fallback ?? [])].map((one) => choice(one, agent));
  };
}

/** A model of MODELS: what its entry leaves out comes from the service. */
function settingsInList(name: string, { api, base_url, api_key }: ListedModel): ModelSettings {
  const inEntry = (field: string): string => `${field} of "${name}" in MODELS`;
  const isElsewhere = base_url !== undefined || api === "anthropic";
  return {
    model: inEntry("model"),
    url: isElsewhere ? inEntry("base_url") : "OPENAI_BASE_URL",
    key: isElsewhere || api_key !== undefined ? inEntry("api_key") : "OPENAI_API_KEY",
  };
}

/** A key or header goes to no server but its own. */
function serverOf(config: Config, listed: ListedModel | undefined): ModelServer {
  const own: Gateway = { headers: listed?.headers, extraBody: listed?.extra_body, keyHeader: listed?.key_header };
  if (listed?.api === "anthropic") return { url: listed.base_url ?? ANTHROPIC_URL, apiKey: listed.api_key, ...own };
  if (listed?.base_url !== undefined) return { url: listed.base_url, apiKey: listed.api_key, ...own };
  const { headers, extraBody, keyHeader } = ownGateway(config);
  return {
    url: config.OPENAI_BASE_URL ?? OPENAI_URL,
    apiKey: listed?.api_key ?? config.OPENAI_API_KEY,
    headers: { ...headers, ...own.headers },
    extraBody: { ...extraBody, ...own.extraBody },
    keyHeader: own.keyHeader ?? keyHeader,
  };
}

export function listedServers(config: Config, list: ModelList): Record<string, { model: string; server: ModelServer }> {
  const entries = Object.entries(list).map(([name, listed]) => {
    return [name, { model: listed.model ?? name, server: serverOf(config, listed) }] as const;
  });
  return Object.fromEntries(entries);
}

export type Models = ReturnType<typeof createModels>;

/** `name`: the one in MODEL_PROFILES. */
interface ModelToMake {
  name: string;
  model: string;
  server: ModelServer;
  temperature?: number | undefined;
  maxTokens: number;
}
type MakeModel = (wanted: ModelToMake) => BaseChatModel;

/** By purpose; null without a model's server: then what is built in does the task. */
export function createModels(config: Config, dialects: Dialects = makeDialects()) {
  const list = readModelList(config.MODELS, config.CHAT_MODEL);
  const profiles = readModelProfiles(config.MODEL_PROFILES);
  const make: MakeModel = ({ name, model, server: { url: baseUrl, ...server }, ...bounds }) => {
    if (list[name]?.api === "anthropic") return new AnthropicChatModel({ model, baseUrl, ...server, ...bounds });
    const amendments = profiles[name]?.amendments ?? profiles[model]?.amendments ?? [];
    return createOpenAIChatModel({ model, baseUrl, ...server, ...bounds, dialects, amendments });
  };
  const create = (task: Task | "chat", maxTokens: number, name = settingsOf(config, task).model): BaseChatModel | null => {
    const server = modelServer(config, task);
    return server && make({ name, model: name, server, maxTokens });
  };
  const { MAX_ANSWER_TOKENS: longest } = config;
  const unseen = Math.max(longest, LEAST_UNSEEN_TOKENS);
  return {
    names: [...new Set([...(modelServer(config, "chat") ? namesAtChatServer(config) : []), ...Object.keys(list)])],
    listed: Object.keys(list),
    list,
    servedAs: (name: string): string => list[name]?.model ?? name,
    choose: makeChooseModels(config, list, make),
    chat: create("chat", longest),
    router: create("router", unseen),
    summary: create("summary", unseen),
    memory: create("memory", unseen),
    title: config.TITLE_MODEL === undefined ? null : create("chat", unseen, config.TITLE_MODEL),
    timeouts: {
      firstTokenMs: config.MODEL_FIRST_TOKEN_TIMEOUT_MS,
      idleMs: config.MODEL_IDLE_TIMEOUT_MS,
      queueMs: config.MODEL_QUEUE_TIMEOUT_MS,
    },
    dialects,
    server: modelServer(config, "chat"),
    otherServers: otherServers(config),
    /** Null with the built-in embedder. */
    embeddingServer: usesEmbeddingServer(config) ? embeddingServer(config) : null,
    description: describeModel(config, "chat"),
    descriptions: Object.fromEntries(TASKS.map((task) => [task, describeModel(config, task)])) as Record<Task, string>,
  };
}

export function usesEmbeddingServer({ EMBEDDING_MODEL, EMBEDDING_BASE_URL, OPENAI_BASE_URL, OPENAI_API_KEY }: Config): boolean {
  return EMBEDDING_MODEL !== BUILT_IN && (EMBEDDING_BASE_URL ?? OPENAI_BASE_URL ?? OPENAI_API_KEY) !== undefined;
}

export function embeddingServer(config: Config): ModelServer {
  const { OPENAI_BASE_URL: url = OPENAI_URL, OPENAI_API_KEY: apiKey, EMBEDDING_HEADERS: headers } = config;
  const isOther = config.EMBEDDING_BASE_URL !== undefined && config.EMBEDDING_BASE_URL !== url;
  const gateway = isOther ? {} : ownGateway(config);
  return {
    ...{ url: config.EMBEDDING_BASE_URL ?? url, apiKey: config.EMBEDDING_API_KEY ?? apiKey },
    ...{ keyHeader: gateway.keyHeader, headers: { ...gateway.headers, ...headers } },
  };
}

export function embeddingModels(config: Config): { model: string; questionModel: string } {
  if (!usesEmbeddingServer(config)) return { model: BUILT_IN, questionModel: BUILT_IN };
  const model = config.EMBEDDING_MODEL ?? DEFAULT_EMBEDDING_MODEL;
  return { model, questionModel: config.EMBEDDING_QUERY_MODEL ?? model };
}

/** Throws AppError `embedder_unavailable` when an unreachable server knows the dimensions. */
export async function openEmbedder(
  config: Config,
  { dialects, knownDimensions }: { dialects?: Dialects; knownDimensions?: number } = {},
): Promise<Embedder> {
  if (!usesEmbeddingServer(config)) return makeHashedEmbedder({});
  const { url: baseUrl, ...server } = embeddingServer(config);
  return openOpenAIEmbedder({
    ...embeddingModels(config),
    baseUrl,
    ...server,
    questionPrefix: config.EMBEDDING_QUERY_PREFIX ?? "",
    passagePrefix: config.EMBEDDING_PASSAGE_PREFIX ?? "",
    dimensions: config.EMBEDDING_DIMENSIONS,
    knownDimensions,
    batch: config.EMBEDDING_BATCH,
    dialects,
    timeoutMs: config.MODEL_FIRST_TOKEN_TIMEOUT_MS,
  });
}

export function openReranker({ RERANK_BASE_URL: baseUrl, RERANK_API_KEY: apiKey, RERANK_MODEL: model }: Config): Rerank | undefined {
  return baseUrl === undefined ? undefined : makeReranker({ baseUrl, apiKey, model });
}
