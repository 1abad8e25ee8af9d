export interface ListedConversation {
  id: string;
  session_id: string;
  message_count: number;
  created_at: string;
  updated_at: string;
}

export interface ListedMessage {
  id: string;
  role: "user" | "assistant";
  content: string;
  completed: boolean;
  created_at: string;
  metadata: Record<string, unknown>;
  rating: { value: number; comment: string | null; rated_at: string } | null;
  attachments?: unknown[];
}

export interface ErrorBody {
  error: { code: string; message: string; details?: { field: string; problem: string }[] };
}

export interface ApiResponse<Body> {
  status: number;
  headers: Headers;
  /** The body as it came; `json` is the same, parsed. */
  text: string;
  json: Body;
}

export interface ApiRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  signal?: AbortSignal;
}

export async function callApi<Body = ErrorBody>(address: string, request: ApiRequest = {}): Promise<ApiResponse<Body>> {
  const response = await fetch(address, request);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) as Body };
}

export async function postJson<Body = ErrorBody>(
  address: string,
  body: unknown,
  headers: Record<string, string> = {},
  method = "POST",
): Promise<ApiResponse<Body>> {
  return callApi<Body>(address, {
    method,
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

export const putJson = <Body = ErrorBody>(address: string, body: unknown, headers?: Record<string, string>): Promise<ApiResponse<Body>> =>
  postJson<Body>(address, body, headers, "PUT");

export async function listConversations(url: string, userId: string, headers: Record<string, string> = {}): Promise<ListedConversation[]> {
  const address = `${url}/api/v1/conversations?user_id=${encodeURIComponent(userId)}&limit=200`;
  return (await callApi<{ conversations: ListedConversation[] }>(address, { headers })).json.conversations;
}

/** All that is stored of a conversation, page by page. */
export async function listMessages(url: string, conversationId: string, headers: Record<string, string> = {}): Promise<ListedMessage[]> {
  const address = `${url}/api/v1/conversations/${conversationId}/messages?limit=200`;
  const all: ListedMessage[] = [];
  for (let after = ""; ;) {
    const { json } = await callApi<{ messages?: ListedMessage[]; next?: string | null }>(address + after, { headers });
    all.push(...(json.messages ?? []));
    if (!json.next) return all;
    after = `&after=${json.next}`;
  }
}

export async function messagesOf(url: string, userId: string, sessionId: string): Promise<ListedMessage[]> {
  const conversation = (await listConversations(url, userId)).find((listed) => listed.session_id === sessionId);
  return conversation ? listMessages(url, conversation.id) : [];
}
