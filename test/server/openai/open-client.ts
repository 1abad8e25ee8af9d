import OpenAI from "openai";

export const MODEL = "conversation-graph";

/** The official client at this service, without retries of its own. */
export function openClient(url: string, options: { apiKey?: string; headers?: Record<string, string> } = {}): OpenAI {
  const { apiKey = "none", headers = {} } = options;
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0, defaultHeaders: headers });
}

/** What a call fails with; throws when it does not fail. */
export async function failureOf(call: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const thrown: unknown = await Promise.resolve(call).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof OpenAI.APIError) return thrown;
  throw new Error(`the client threw no APIError: ${String(thrown)}`);
}

export const says = (content: string) => ({ role: "user" as const, content });
