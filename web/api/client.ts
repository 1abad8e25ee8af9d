import { pause } from "../browser/pause.ts";
import { apiKey, whenKeyIsGiven } from "./api-key.ts";
import { errorOf, toApiError } from "./api-error.ts";

export interface ApiRequest {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** It outlives the page. */
  keepalive?: boolean;
}

/** Milliseconds until an unanswered reading request is sent again: the service may be restarting. */
const AGAIN_AFTER_MS = 500;

async function fetchAgain(path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(path, request);
  } catch (error) {
    if (request.method !== "GET" || request.signal?.aborted) throw error;
    await pause(AGAIN_AFTER_MS);
    return fetch(path, request);
  }
}

/** Sends a request to the page's service. If a key is needed, the page asks for it and sends again. Throws ApiError. */
export async function send(
  path: string,
  { method = "GET", body, headers = {}, signal, keepalive = false }: ApiRequest = {},
): Promise<Response> {
  for (;;) {
    const key = apiKey.value;
    const response = await fetchAgain(path, {
      method,
      keepalive,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined || body instanceof Blob ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    }).catch((error: unknown) => {
      throw toApiError(error);
    });
    if (response.ok) return response;
    if (response.status !== 401) throw await errorOf(response);
    await response.body?.cancel();
    await whenKeyIsGiven(key);
  }
}

export async function call<Answer>(path: string, request: ApiRequest = {}): Promise<Answer> {
  return (await (await send(path, request)).json()) as Answer;
}
