import { expect } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, postJson } from "../clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { openServiceWithModel } from "./service-with-model.ts";

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

/** On an embedded database in a folder, with the built-in embedder; the model says "re: " and the message. */
export async function openServiceWithEpisodes(environment: Record<string, string> = {}) {
  const { folder, remove } = await createDataFolder();
  const running = await openServiceWithModel({
    DATA_DIR: folder,
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
    MEMORY_READ_TIMEOUT_MS: "10000",
    ...environment,
  });
  running.model.answer((body) => ({ tokens: ["re: ", body.messages.at(-1)?.content.split("\n").at(-1) ?? ""] }));
  const api = `${running.url}/api/v1`;
  const send = (body: unknown, headers: Headers = {}) => postJson(`${api}/conversations/import`, body, headers);
  return {
    ...running,
    folder,
    close: () => running.close().finally(remove),
    async say(userId: string, message: string, sessionId = "s", headers: Headers = {}): Promise<TurnResult> {
      const body = { user_id: userId, session_id: sessionId, message };
      const { status, json, text } = await postJson<TurnResult>(`${api}/chat`, body, headers);
      expect({ status, text }).toMatchObject({ status: 200 });
      return json;
    },
    send,
    async bring(
      userId: string,
      messages: readonly ImportedMessage[],
      sessionId = "imported",
      headers: Headers = {},
    ): Promise<ImportedBody> {
      const { status, text } = await send({ user_id: userId, session_id: sessionId, messages }, headers);
      expect({ status, text }).toMatchObject({ status: 200 });
      return JSON.parse(text) as ImportedBody;
    },
    async settle(conversationId: string, headers: Headers = {}): Promise<{ settled: boolean; pending: number }> {
      const address = `${api}/conversations/${conversationId}/settle?timeout_ms=50000`;
      return (await callApi<{ settled: boolean; pending: number }>(address, { method: "POST", headers })).json;
    },
    episodes: (userId: string, query: Record<string, string>, headers: Headers = {}) =>
      callApi<{ episodes: ShownEpisode[]; degraded: string[] }>(
        `${api}/users/${encodeURIComponent(userId)}/episodes?${new URLSearchParams(query).toString()}`,
        { headers },
      ),
  };
}
