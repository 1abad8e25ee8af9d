import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Embedder } from "../../models/embedder.ts";
import { makeHashedEmbedder } from "../../models/offline/hashed-embedder.ts";
import { type ChooseModels, makeServerCircuit, type ModelChoice, type ServerCircuit } from "../../models/model-choice.ts";
import { nameSettings } from "../../models/model-error.ts";
import { OfflineChatModel } from "../../models/offline/offline-chat-model.ts";
import { AnthropicChatModel } from "../../models/anthropic-chat-model.ts";
import { createOpenAIChatModel } from "../../models/openai-chat-model.ts";
import { openOpenAIEmbedder } from "../../models/openai-embedder.ts";
import { type Dialects, makeDialects } from "../../models/wire/dialects.ts";
import { makeReranker, type Rerank } from "../../models/reranker.ts";
import type { Agent } from "../../turn/agent.ts";
import type { Config } from "../settings/config.ts";
import { type ModelServer, OPENAI_URL, ownGateway, serverOf, settingsInList } from "../settings/model-server.ts";
import { type ModelList, readModelList } from "../settings/read-model-list.ts";
import { readModelProfiles } from "../settings/read-model-profiles.ts";

/** Chooses the built-in embedder also beside a model's server. */
const BUILT_IN = "built-in";
export const OFFLINE = "offline";
const DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small";

/** A summary, or a section of core memory with its reasons, is never cut because answers are kept short. */
const LEAST_UNSEEN_TOKENS = 4_000;

/** The tasks of models, each with the setting that names its model; without it the model of answers does the task. */
const SETTING_OF = { router: "ROUTER_MODEL", summary: "SUMMARY_MODEL", memory: "MEMORY_MODEL" } as const;
export type Task = keyof typeof SETTING_OF;
const TASKS = Object.keys(SETTING_OF) as Task[];

const lists = new WeakMap<Config, ModelList>();

/** The file of MODELS, read once. Throws AppError `invalid_configuration`. */
function listOf(config: Config): ModelList {
  const list = lists.get(config) ?? readModelList(config.MODELS, config.CHAT_MODEL);
  lists.set(config, list);
  return list;
}

const nameOf = (config: Config, task: Task | "chat"): string =>
  (task === "chat" ? undefined : config[SETTING_OF[task]]) ?? config.CHAT_MODEL;

/** Null: there is no server for a model of this name. */
function serverOfName(config: Config, name: string): ModelServer | null {
  const listed = listOf(config)[name];
  const hasOwn = listed?.base_url !== undefined || listed?.api_key !== undefined || listed?.api === "anthropic";
  return hasOwn || config.OPENAI_API_KEY !== undefined || config.OPENAI_BASE_URL !== undefined ? serverOf(config, listed) : null;
}

/** Null: what is built in does the task. */
export const modelServer = (config: Config, task: Task | "chat"): ModelServer | null => serverOfName(config, nameOf(config, task));

function otherServers(config: Config): Partial<Record<Task, ModelServer>> {
  const chat = modelServer(config, "chat");
  const servers = TASKS.map((task) => [task, modelServer(config, task)] as const);
  return Object.fromEntries(servers.filter(([, server]) => server && (server.url !== chat?.url || server.apiKey !== chat.apiKey)));
}

/** For people. */
function describeModel(config: Config, task: Task | "chat"): string {
  const server = modelServer(config, task);
  if (!server) return OFFLINE;
  const isOpenAI = server.url === OPENAI_URL && config.OPENAI_BASE_URL === undefined;
  return `${nameOf(config, task)} (${isOpenAI ? "OpenAI" : server.url})`;
}

/** By use. */
export function modelNames(config: Config): Record<Task | "chat", string> {
  const named = (task: Task | "chat"): string => (modelServer(config, task) ? nameOf(config, task) : OFFLINE);
  return { chat: named("chat"), router: named("router"), summary: named("summary"), memory: named("memory") };
}

/** The models of the server that answers. */
function namesAtChatServer(config: Config): string[] {
  const others = otherServers(config);
  const tasks = TASKS.filter((task) => !(task in others));
  const names = [config.CHAT_MODEL, ...tasks.map((task) => nameOf(config, task))];
  return names.filter((name) => !listOf(config)[name]?.internal);
}

/** A model for each name of callers and agents, and for each temperature and bound of an agent. */
function makeChooseModels(config: Config, list: ModelList, make: MakeModel): ChooseModels {
  const own = modelNames(config).chat;
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
    const model = made.get(key) ?? make({ name, server, temperature, maxTokens });
    made.set(key, model);
    const circuit = circuits.get(url) ?? makeServerCircuit();
    circuits.set(url, circuit);
    return { name, model, circuit };
  }

  return function chooseModels({ model, agent }) {
    const name = model ?? agent?.model ?? own;
    return [name, ...(list[name]?.fallback ?? [])].map((one) => choice(one, agent));
  };
}

export function listedServers(config: Config, list: ModelList): Record<string, { model: string; server: ModelServer }> {
  const entries = Object.entries(list).map(([name, listed]) => {
    return [name, { model: listed.model ?? name, server: serverOf(config, listed) }] as const;
  });
  return Object.fromEntries(entries);
}

export type Models = ReturnType<typeof createModels>;

/** `name`: the one in MODELS and MODEL_PROFILES. */
interface ModelToMake {
  name: string;
  server: ModelServer;
  temperature?: number | undefined;
  maxTokens: number;
}
type MakeModel = (wanted: ModelToMake) => BaseChatModel;

/** By purpose; null without a model's server: then what is built in does the task. */
export function createModels(config: Config, dialects: Dialects = makeDialects()) {
  const list = listOf(config);
  const profiles = readModelProfiles(config.MODEL_PROFILES);
  const servedAs = (name: string): string => list[name]?.model ?? name;
  const make: MakeModel = ({ name, server: { url: baseUrl, ...server }, ...bounds }) => {
    const [listed, model] = [list[name], servedAs(name)];
    const amendments = profiles[name]?.amendments ?? profiles[model]?.amendments ?? [];
    const made =
      listed?.api === "anthropic"
        ? new AnthropicChatModel({ model, baseUrl, ...server, ...bounds })
        : createOpenAIChatModel({ model, baseUrl, ...server, ...bounds, dialects, amendments });
    if (listed) nameSettings(made, settingsInList(name, listed));
    return made;
  };
  const create = (name: string, maxTokens: number): BaseChatModel | null => {
    const server = serverOfName(config, name);
    return server && make({ name, server, maxTokens });
  };
  const listed = Object.keys(list).filter((name) => !list[name]?.internal);
  const { MAX_ANSWER_TOKENS: longest } = config;
  const unseen = Math.max(longest, LEAST_UNSEEN_TOKENS);
  return {
    names: [...new Set([...(modelServer(config, "chat") ? namesAtChatServer(config) : []), ...listed])],
    listed,
    list,
    servedAs,
    choose: makeChooseModels(config, list, make),
    chat: create(config.CHAT_MODEL, longest),
    router: create(nameOf(config, "router"), unseen),
    summary: create(nameOf(config, "summary"), unseen),
    memory: create(nameOf(config, "memory"), unseen),
    title: config.TITLE_MODEL === undefined ? null : create(config.TITLE_MODEL, unseen),
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
