import { expect } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, postJson, type ApiResponse, type ErrorBody } from "../clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { openServiceWithModel, type ServiceWithModel } from "./service-with-model.ts";

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
}

export interface ImportedBody {
  conversation_id: string;
  imported: number;
  skipped: number;
}

/** A message to import, as it stands in the body. */
export type ImportedMessage = Record<string, unknown>;

/** A service on an embedded database in a folder, with episodic memory and the built-in embedder; its model says "re: " and the message. */
export interface ServiceWithEpisodes extends ServiceWithModel {
  folder: string;
  say(userId: string, message: string, sessionId?: string, headers?: Record<string, string>): Promise<TurnResult>;
  send(body: unknown, headers?: Record<string, string>): Promise<ApiResponse<ErrorBody>>;
  /** An import that must succeed. */
  bring(userId: string, messages: readonly ImportedMessage[], sessionId?: string, headers?: Record<string, string>): Promise<ImportedBody>;
  settle(conversationId: string, headers?: Record<string, string>): Promise<{ settled: boolean; pending: number }>;
  episodes(
    userId: string,
    query: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<ApiResponse<{ episodes: ShownEpisode[]; degraded: string[] }>>;
}

/** Turns as messages of an import, a minute apart. */
export function importedTurns(turns: readonly (readonly [string, string])[], at = "2024-03-05T12:00:00Z"): ImportedMessage[] {
  return turns.flatMap(([asked, answer], number) =>
    [
      { role: "user", content: asked },
      { role: "assistant", content: answer },
    ].map((message, second) => ({ ...message, created_at: new Date(Date.parse(at) + (2 * number + second) * 60_000).toISOString() })),
  );
}

export async function openServiceWithEpisodes(environment: Record<string, string> = {}): Promise<ServiceWithEpisodes> {
  const { folder, remove } = await createDataFolder();
  const running = await openServiceWithModel({
    DATA_DIR: folder,
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
    MEMORY_READ_TIMEOUT_MS: "10000", // this machine may be slow
    ...environment,
  });
  running.model.answer((body) => ({ tokens: ["re: ", body.messages.at(-1)?.content.split("\n").at(-1) ?? ""] }));
  const api = `${running.url}/api/v1`;
  const send: ServiceWithEpisodes["send"] = (body, headers = {}) => postJson(`${api}/conversations/import`, body, headers);
  return {
    ...running,
    folder,
    close: () => running.close().finally(remove),
    async say(userId, message, sessionId = "s", headers = {}) {
      const { status, json, text } = await postJson<TurnResult>(
        `${api}/chat`,
        { user_id: userId, session_id: sessionId, message },
        headers,
      );
      expect({ status, text }).toMatchObject({ status: 200 });
      return json;
    },
    send,
    async bring(userId, messages, sessionId = "imported", headers = {}) {
      const { status, text } = await send({ user_id: userId, session_id: sessionId, messages }, headers);
      expect({ status, text }).toMatchObject({ status: 200 });
      return JSON.parse(text) as ImportedBody;
    },
    async settle(conversationId, headers = {}) {
      const address = `${api}/conversations/${conversationId}/settle?timeout_ms=50000`;
      return (await callApi<{ settled: boolean; pending: number }>(address, { method: "POST", headers })).json;
    },
    episodes: (userId, query, headers = {}) =>
      callApi(`${api}/users/${encodeURIComponent(userId)}/episodes?${new URLSearchParams(query).toString()}`, { headers }),
  };
}
