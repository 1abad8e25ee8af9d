import { expect } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, postJson } from "../clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { openServiceWithModel } from "./service-with-model.ts";
import { useOpened } from "../use-opened.ts";

export interface ShownEpisode {
  id: string;
  score: number;
  conversation_id: string;
  user_message: string;
  assistant_message: string;
  episode_type: string;
  importance: number;
  created_at: string;
  message_ids: string[];
  metadata: Record<string, unknown>;
  neighbours: Pick<ShownEpisode, "id" | "user_message" | "assistant_message" | "created_at" | "message_ids" | "metadata">[];
}

export type ImportedMessage = Record<string, unknown>;
export type ImportedBody = { conversation_id: string; imported: number; skipped: number };
type Headers = Record<string, string>;

export type ServiceWithEpisodes = Awaited<ReturnType<typeof openServiceWithEpisodes>>;

export function importedTurns(turns: readonly (readonly [string, string])[], at = "2024-03-05T12:00:00Z"): ImportedMessage[] {
  return turns.flatMap(([asked, answer], number) =>
    [
      { role: "user", content: asked },
      { role: "assistant", content: answer },
    ].map((message, second) => ({ ...message, created_at: new Date(Date.parse(at) + (2 * number + second) * 60_000).toISOString() })),
  );
}

/** A client for chats, imports and searches of episodes. Every request but `send` must succeed. */
export function conversationApi(url: string) {
  const api = `${url}/api/v1`;
  async function post<Body>(path: string, body: unknown, headers: Headers): Promise<Body> {
    const { status, text, json } = await postJson<Body>(`${api}${path}`, body, headers);
    expect({ status, text }).toMatchObject({ status: 200 });
    return json;
  }
  return {
    send: (body: unknown, headers: Headers = {}) => postJson(`${api}/conversations/import`, body, headers),
    say: (userId: string, message: string, sessionId = "s", headers: Headers = {}) =>
      post<TurnResult>("/chat", { user_id: userId, session_id: sessionId, message }, headers),
    bring: (userId: string, messages: readonly ImportedMessage[], sessionId = "imported", headers: Headers = {}) =>
      post<ImportedBody>("/conversations/import", { user_id: userId, session_id: sessionId, messages }, headers),
    settle: (conversationId: string, headers: Headers = {}, timeoutMs = 50_000) =>
      post<{ settled: boolean; pending: number }>(`/conversations/${conversationId}/settle?timeout_ms=${timeoutMs}`, {}, headers),
    episodes: (userId: string, query: Record<string, string>, headers: Headers = {}) =>
      callApi<{ episodes: ShownEpisode[]; degraded: string[] }>(
        `${api}/users/${encodeURIComponent(userId)}/episodes?${new URLSearchParams(query).toString()}`,
        { headers },
      ),
  };
}

/** On an embedded database in a folder, with the built-in embedder; the model says "re: " and the message. */
export async function openServiceWithEpisodes(
  environment: Record<string, string> = {},
  options: Parameters<typeof openServiceWithModel>[1] = {},
) {
  const { folder, remove } = await createDataFolder();
  const layers = { ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in", MEMORY_READ_TIMEOUT_MS: "10000" };
  const running = await openServiceWithModel({ DATA_DIR: folder, ...layers, ...environment }, options);
  running.model.answer((body) => ({ tokens: ["re: ", body.messages.at(-1)?.content.split("\n").at(-1) ?? ""] }));
  return { ...running, ...conversationApi(running.url), folder, close: () => running.close().finally(remove) };
}

export const useServiceWithEpisodes = (...given: Parameters<typeof openServiceWithEpisodes>) =>
  useOpened(() => openServiceWithEpisodes(...given));
