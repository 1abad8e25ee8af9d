import { expect } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, postJson, type ApiResponse } from "../clients/api-client.ts";
import type { ChatRequestBody, ModelScript, ScriptedToolCall, SeenRequest } from "../../servers/model-server.ts";
import type { ImportedMessage, ShownEpisode } from "./service-with-episodes.ts";
import { openServiceWithModel, type ServiceWithModel } from "./service-with-model.ts";
import { openTestService, type TestService } from "./service.ts";

export interface ShownSection {
  section: string;
  content: string;
  version: number;
  updated_at: string;
  updated_by: string;
  lines?: { content: string; trigger_message_ids: string[] }[];
}

export interface ShownVersion {
  version: number;
  content: string | null;
  updated_by: string;
  created_at: string;
  conversation_id: string | null;
  trigger_message_id: string | null;
}

export interface ShownOperation {
  id: string;
  operation: string;
  section: string | null;
  version: number | null;
  old_value: string | null;
  new_value: string | null;
  reason: string | null;
  actor: string;
  refused: string | null;
  trigger_message_id: string | null;
  conversation_id: string | null;
  created_at: string;
}

export type WrittenSection = Pick<ShownSection, "section" | "version"> & { content: string | null };
type Headers = Record<string, string>;

/** The routes of a user's core memory. Sections are put into the path as they are given. */
export interface CoreMemoryApi {
  read(userId: string, headers?: Headers): Promise<ShownSection[]>;
  /** Content by section. */
  contents(userId: string, headers?: Headers): Promise<Record<string, string>>;
  put(userId: string, section: string, body: unknown, headers?: Headers): Promise<ApiResponse<WrittenSection>>;
  /** Puts a content that must be taken. */
  write(userId: string, section: string, content: string, headers?: Headers): Promise<WrittenSection>;
  remove(userId: string, section: string, headers?: Headers): Promise<ApiResponse<WrittenSection>>;
  history(
    userId: string,
    section: string,
    query?: string,
    headers?: Headers,
  ): Promise<ApiResponse<{ versions: ShownVersion[]; next: string | null }>>;
  revert(userId: string, section: string, body: unknown, headers?: Headers): Promise<ApiResponse<WrittenSection>>;
  operations(
    userId: string,
    query?: string,
    headers?: Headers,
  ): Promise<ApiResponse<{ operations: ShownOperation[]; next: string | null }>>;
  say(userId: string, message: string, sessionId?: string, headers?: Headers): Promise<TurnResult>;
  bring(userId: string, messages: readonly ImportedMessage[], sessionId?: string): Promise<{ conversation_id: string; imported: number }>;
  episodes(userId: string, query: string, limit?: number): Promise<ShownEpisode[]>;
  /** Waits until the jobs of a conversation and of its user are done, which they must be. */
  settle(conversationId: string): Promise<void>;
}

export function coreMemoryApi(url: string): CoreMemoryApi {
  const api = `${url}/api/v1`;
  const user = (userId: string): string => `${api}/users/${encodeURIComponent(userId)}`;
  const section = (userId: string, name: string): string => `${user(userId)}/core-memory/${name}`;
  const put: CoreMemoryApi["put"] = (userId, name, body, headers = {}) =>
    callApi(section(userId, name), {
      method: "PUT",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const read: CoreMemoryApi["read"] = async (userId, headers = {}) => {
    const { status, text, json } = await callApi<{ sections: ShownSection[] }>(`${user(userId)}/core-memory`, { headers });
    expect({ status, text }).toMatchObject({ status: 200 });
    return json.sections;
  };
  async function post<Body>(path: string, body: unknown, headers: Headers = {}): Promise<Body> {
    const { status, text, json } = await postJson<Body>(`${api}${path}`, body, headers);
    expect({ status, text }).toMatchObject({ status: 200 });
    return json;
  }
  return {
    read,
    put,
    contents: async (userId, headers) => Object.fromEntries((await read(userId, headers)).map((found) => [found.section, found.content])),
    async write(userId, name, content, headers) {
      const { status, text, json } = await put(userId, name, { content }, headers);
      expect({ status, text }).toMatchObject({ status: 200 });
      return json;
    },
    remove: (userId, name, headers = {}) => callApi(section(userId, name), { method: "DELETE", headers }),
    history: (userId, name, query = "", headers = {}) => callApi(`${section(userId, name)}/history${query}`, { headers }),
    revert: (userId, name, body, headers = {}) => postJson(`${section(userId, name)}/revert`, body, headers),
    operations: (userId, query = "?limit=200", headers = {}) => callApi(`${user(userId)}/memory-operations${query}`, { headers }),
    say: (userId, message, sessionId = "s", headers = {}) => post("/chat", { user_id: userId, session_id: sessionId, message }, headers),
    bring: (userId, messages, sessionId = "imported") =>
      post("/conversations/import", { user_id: userId, session_id: sessionId, messages }),
    async episodes(userId, query, limit = 5) {
      const found = `${user(userId)}/episodes?${new URLSearchParams({ query, limit: `${limit}` }).toString()}`;
      return (await callApi<{ episodes: ShownEpisode[] }>(found)).json.episodes;
    },
    async settle(conversationId) {
      expect(await post(`/conversations/${conversationId}/settle?timeout_ms=50000`, {})).toEqual({ settled: true, pending: 0 });
    },
  };
}

/** Without a model's server: the built-in rules decide what becomes core memory. */
export async function openOfflineCoreMemory(environment: Record<string, string> = {}): Promise<TestService & CoreMemoryApi> {
  const service = await openTestService({ ENABLE_CORE_MEMORY: "true", MEMORY_READ_TIMEOUT_MS: "10000", ...environment });
  return { ...service, ...coreMemoryApi(service.url) };
}

export const MEMORY_MODEL = "test-memory";

/** With a model for each task; the one of answers says "re: " and the message, the memory agent does nothing until `remember` says what. */
export interface ServiceWithCoreMemory extends ServiceWithModel, CoreMemoryApi {
  remember(script: (body: ChatRequestBody) => ModelScript): void;
  answer(script: (body: ChatRequestBody) => ModelScript): void;
  /** Requests of the memory agent so far. */
  memoryRequests(): SeenRequest[];
}

export async function openServiceWithCoreMemory(environment: Record<string, string> = {}): Promise<ServiceWithCoreMemory> {
  const running = await openServiceWithModel({
    ENABLE_CORE_MEMORY: "true",
    MEMORY_MODEL,
    MEMORY_READ_TIMEOUT_MS: "10000", // this machine may be slow
    ...environment,
  });
  let remember: (body: ChatRequestBody) => ModelScript = () => ({ tokens: ["nothing to do"] });
  let answer: (body: ChatRequestBody) => ModelScript = ({ messages }) => ({ tokens: ["re: ", messages.at(-1)?.content ?? ""] });
  running.model.answer((body) => (body.model === MEMORY_MODEL ? remember(body) : answer(body)));
  return {
    ...running,
    ...coreMemoryApi(running.url),
    remember: (next) => void (remember = next),
    answer: (next) => void (answer = next),
    memoryRequests: () => running.model.seen.filter(({ body }) => body.model === MEMORY_MODEL),
  };
}

/** Calls these tools in the first round and says that it is done in the next. */
export function callOnce(...toolCalls: ScriptedToolCall[]): (body: ChatRequestBody) => ModelScript {
  return ({ messages }) => (messages.some(({ role }) => role === "tool") ? { tokens: ["done"] } : { toolCalls });
}

export const writing = (section: string, content: string): ScriptedToolCall => ({
  name: "core_memory_update",
  arguments: { section, content, reason: "said so" },
});
