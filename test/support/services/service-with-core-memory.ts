import { expect } from "@jest/globals";
import { callApi, postJson, putJson } from "../clients/api-client.ts";
import type { ChatRequestBody, ModelScript, ScriptedToolCall, SeenRequest } from "../../servers/model-server.ts";
import { conversationApi } from "./service-with-episodes.ts";
import { openServiceWithModel } from "./service-with-model.ts";
import { openTestService, type TestService } from "./service.ts";
import { useOpened } from "../use-opened.ts";

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
  kb_prefix: string | null;
  episode_type: string | null;
  importance: number | null;
  results_count: number | null;
  top_result: { id: string; score: number } | null;
  created_at: string;
}

export type WrittenSection = Pick<ShownSection, "section" | "version"> & { content: string | null };
type Headers = Record<string, string>;

export type CoreMemoryApi = ReturnType<typeof coreMemoryApi>;

/** The routes of a user's core memory; names of sections go into the path as they are. */
export function coreMemoryApi(url: string) {
  const { say, bring, episodes, settle } = conversationApi(url);
  const user = (userId: string): string => `${url}/api/v1/users/${encodeURIComponent(userId)}`;
  const section = (userId: string, name: string): string => `${user(userId)}/core-memory/${name}`;
  const put = (userId: string, name: string, body: unknown, headers: Headers = {}) =>
    putJson<WrittenSection>(section(userId, name), body, headers);
  const read = async (userId: string, headers: Headers = {}): Promise<ShownSection[]> => {
    const { status, text, json } = await callApi<{ sections: ShownSection[] }>(`${user(userId)}/core-memory`, { headers });
    expect({ status, text }).toMatchObject({ status: 200 });
    return json.sections;
  };
  return {
    read,
    put,
    contents: async (userId: string, headers?: Headers) =>
      Object.fromEntries((await read(userId, headers)).map((found) => [found.section, found.content])),
    async write(userId: string, name: string, content: string, headers?: Headers): Promise<WrittenSection> {
      const { status, text, json } = await put(userId, name, { content }, headers);
      expect({ status, text }).toMatchObject({ status: 200 });
      return json;
    },
    remove: (userId: string, name: string, headers: Headers = {}) =>
      callApi<WrittenSection>(section(userId, name), { method: "DELETE", headers }),
    history: (userId: string, name: string, query = "", headers: Headers = {}) =>
      callApi<{ versions: ShownVersion[]; next: string | null }>(`${section(userId, name)}/history${query}`, { headers }),
    revert: (userId: string, name: string, body: unknown, headers: Headers = {}) =>
      postJson<WrittenSection>(`${section(userId, name)}/revert`, body, headers),
    operations: (userId: string, query = "?limit=200", headers: Headers = {}) =>
      callApi<{ operations: ShownOperation[]; next: string | null }>(`${user(userId)}/memory-operations${query}`, { headers }),
    say,
    bring,
    episodes: async (userId: string, query: string, limit = 5) => (await episodes(userId, { query, limit: `${limit}` })).json.episodes,
    /** Waits until the jobs of a conversation and of its user are done, which they must be. */
    settle: async (conversationId: string) => expect(await settle(conversationId)).toEqual({ settled: true, pending: 0 }),
  };
}

export async function openOfflineCoreMemory(environment: Record<string, string> = {}): Promise<TestService & CoreMemoryApi> {
  const service = await openTestService({ ENABLE_CORE_MEMORY: "true", MEMORY_READ_TIMEOUT_MS: "10000", ...environment });
  return { ...service, ...coreMemoryApi(service.url) };
}

export const MEMORY_MODEL = "test-memory";

export type ServiceWithCoreMemory = Awaited<ReturnType<typeof openServiceWithCoreMemory>>;

/** With a model for each task; that of answers says "re: " and the message, the memory agent does nothing until `remember` says what. */
export async function openServiceWithCoreMemory(environment: Record<string, string> = {}) {
  const running = await openServiceWithModel({
    ENABLE_CORE_MEMORY: "true",
    MEMORY_MODEL,
    MEMORY_READ_TIMEOUT_MS: "10000",
    ...environment,
  });
  let remember: (body: ChatRequestBody) => ModelScript = () => ({ tokens: ["nothing to do"] });
  let answer: (body: ChatRequestBody) => ModelScript = ({ messages }) => ({ tokens: ["re: ", messages.at(-1)?.content ?? ""] });
  running.model.answer((body) => (body.model === MEMORY_MODEL ? remember(body) : answer(body)));
  return {
    ...running,
    ...coreMemoryApi(running.url),
    remember: (next: typeof remember) => void (remember = next),
    answer: (next: typeof answer) => void (answer = next),
    memoryRequests: (): SeenRequest[] => running.model.seen.filter(({ body }) => body.model === MEMORY_MODEL),
  };
}

export const useServiceWithCoreMemory = (...given: Parameters<typeof openServiceWithCoreMemory>) =>
  useOpened(() => openServiceWithCoreMemory(...given));

export function callOnce(...toolCalls: ScriptedToolCall[]): (body: ChatRequestBody) => ModelScript {
  return ({ messages }) => (messages.some(({ role }) => role === "tool") ? { tokens: ["done"] } : { toolCalls });
}

export const writing = (section: string, content: string): ScriptedToolCall => ({
  name: "core_memory_update",
  arguments: { section, content, reason: "said so" },
});
