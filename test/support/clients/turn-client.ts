import { callApi, type ApiResponse } from "./api-client.ts";
import { readEvents, type EventStreamResponse } from "./event-client.ts";

export interface ShownTurn {
  id: string;
  state: string;
  conversation_id: string | null;
  message_id: string | null;
  answer_message_id: string | null;
  completed: boolean | null;
  error: { code: string; retryable: boolean; retry_after_seconds?: number } | null;
  [field: string]: unknown;
}

export const getTurn = (url: string, turnId: string, headers: Record<string, string> = {}): Promise<ApiResponse<ShownTurn>> =>
  callApi<ShownTurn>(`${url}/api/v1/turns/${turnId}`, { headers });

export const cancelTurn = (url: string, turnId: string): Promise<ApiResponse<{ turn_id: string; cancelled: boolean }>> =>
  callApi(`${url}/api/v1/turns/${turnId}/cancel`, { method: "POST" });

/** The events of a turn behind `lastEventId`, to its end. */
export async function streamTurn(
  url: string,
  turnId: string,
  {
    lastEventId,
    signal,
    headers: given = {},
  }: { lastEventId?: string | undefined; signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<EventStreamResponse> {
  const headers = { ...given, ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) };
  const response = await fetch(`${url}/api/v1/turns/${turnId}/stream`, { headers, ...(signal ? { signal } : {}) });
  return readEvents(response);
}
