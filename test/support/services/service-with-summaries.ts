import { expect } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, postJson } from "../clients/api-client.ts";
import type { ChatRequestBody, ModelScript, SeenRequest } from "../../servers/model-server.ts";
import { openServiceWithModel, type ServiceWithModel } from "./service-with-model.ts";

export interface ShownSummary {
  text: string;
  version: number;
  covered_message_count: number;
  covered_through: { created_at: string; message_id: string };
  updated_at: string;
}

/** A service that summarises early: first with four messages, then with every two before a window of two. */
export interface ServiceWithSummaries extends ServiceWithModel {
  say(userId: string, message: string, headers?: Record<string, string>): Promise<TurnResult>;
  summaryOf(conversationId: string, headers?: Record<string, string>): Promise<ShownSummary | null>;
  settle(conversationId: string, timeoutMs?: number, headers?: Record<string, string>): Promise<{ settled: boolean; pending: number }>;
  /** How the model of summaries answers; the one of answers says "re: " and the message. */
  summarise(script: ModelScript): void;
  summaryRequests(): SeenRequest[];
}

const SUMMARY_MODEL = "test-summary";

export async function openServiceWithSummaries(environment: Record<string, string> = {}): Promise<ServiceWithSummaries> {
  const running = await openServiceWithModel({
    SUMMARY_MODEL,
    HISTORY_WINDOW: "2",
    SUMMARY_MIN_MESSAGES: "4",
    SUMMARY_UPDATE_DELTA: "2",
    ...environment,
  });
  let script: ModelScript = { tokens: ["They ", "spoke."] };
  running.model.answer((body: ChatRequestBody) =>
    body.model === SUMMARY_MODEL ? script : { tokens: ["re: ", body.messages.at(-1)?.content ?? ""] },
  );
  const address = (conversationId: string): string => `${running.url}/api/v1/conversations/${conversationId}`;
  return {
    ...running,
    async say(userId, message, headers = {}) {
      const body = { user_id: userId, session_id: "s", message };
      const { status, json } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, body, headers);
      expect(status).toBe(200);
      return json;
    },
    async summaryOf(conversationId, headers = {}) {
      return (await callApi<{ summary: ShownSummary | null }>(`${address(conversationId)}/summary`, { headers })).json.summary;
    },
    async settle(conversationId, timeoutMs = 30_000, headers = {}) {
      const path = `${address(conversationId)}/settle?timeout_ms=${timeoutMs}`;
      return (await callApi<{ settled: boolean; pending: number }>(path, { method: "POST", headers })).json;
    },
    summarise: (next) => void (script = next),
    summaryRequests: () => running.model.seen.filter(({ body }) => body.model === SUMMARY_MODEL),
  };
}
