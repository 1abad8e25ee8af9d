import { callApi } from "../clients/api-client.ts";
import type { ChatRequestBody, ModelScript, SeenRequest } from "../../servers/model-server.ts";
import { conversationApi } from "./service-with-episodes.ts";
import { openServiceWithModel } from "./service-with-model.ts";
import { useOpened } from "../use-opened.ts";

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
  const { say, settle } = conversationApi(running.url);
  return {
    ...running,
    say: (userId: string, message: string, headers?: Headers) => say(userId, message, "s", headers),
    async summaryOf(conversationId: string, headers: Headers = {}): Promise<ShownSummary | null> {
      const address = `${running.url}/api/v1/conversations/${conversationId}/summary`;
      return (await callApi<{ summary: ShownSummary | null }>(address, { headers })).json.summary;
    },
    settle: (conversationId: string, timeoutMs = 30_000, headers?: Headers) => settle(conversationId, headers, timeoutMs),
    summarise: (next: ModelScript) => void (script = next),
    summaryRequests: (): SeenRequest[] => running.model.seen.filter(({ body }) => body.model === SUMMARY_MODEL),
  };
}

export const useServiceWithSummaries = (...given: Parameters<typeof openServiceWithSummaries>) =>
  useOpened(() => openServiceWithSummaries(...given));
