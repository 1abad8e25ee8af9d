import { expect } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, postJson } from "../clients/api-client.ts";
import type { ChatRequestBody, ModelScript, SeenRequest } from "../../servers/model-server.ts";
import { openServiceWithModel } from "./service-with-model.ts";

export interface ShownSummary {
  text: string;
  version: number;
  covered_message_count: number;
  covered_through: { created_at: string; message_id: string };
  updated_at: string;
}

export type ServiceWithSummaries = Awaited<ReturnType<typeof openServiceWithSummaries>>;

type Headers = Record<string, string>;
const SUMMARY_MODEL = "test-summary";

/** Summarises early; the model of summaries answers as `summarise` says, that of answers says "re: " and the message. */
export async function openServiceWithSummaries(environment: Record<string, string> = {}) {
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
    async say(userId: string, message: string, headers: Headers = {}): Promise<TurnResult> {
      const body = { user_id: userId, session_id: "s", message };
      const { status, json } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, body, headers);
      expect(status).toBe(200);
      return json;
    },
    async summaryOf(conversationId: string, headers: Headers = {}): Promise<ShownSummary | null> {
      return (await callApi<{ summary: ShownSummary | null }>(`${address(conversationId)}/summary`, { headers })).json.summary;
    },
    async settle(conversationId: string, timeoutMs = 30_000, headers: Headers = {}): Promise<{ settled: boolean; pending: number }> {
      const path = `${address(conversationId)}/settle?timeout_ms=${timeoutMs}`;
      return (await callApi<{ settled: boolean; pending: number }>(path, { method: "POST", headers })).json;
    },
    summarise: (next: ModelScript) => void (script = next),
    summaryRequests: (): SeenRequest[] => running.model.seen.filter(({ body }) => body.model === SUMMARY_MODEL),
  };
}
