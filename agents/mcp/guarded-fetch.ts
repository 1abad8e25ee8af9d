export const MOST_BYTES = 8 * 2 ** 20;
/** After the end of a stream the SDK still reads what came before it. */
const SETTLE_MS = 200;

interface StreamEnd {
  /** The id of the message that got no answer. */
  id: string | number;
  isTooLarge: boolean;
}

function messageIdOf(body: unknown): string | number | undefined {
  if (typeof body !== "string") return undefined;
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string };
  return method === undefined ? undefined : id;
}

/**
 * A `fetch` for the SDK's transport. It limits answers to MOST_BYTES and calls `onStreamEnd` for each ended stream that cannot be resumed.
 * The transport alone would leave the request open when the server dies.
 */
export function guardFetch(
  inner: typeof fetch,
  onStreamEnd: (end: StreamEnd) => void,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async function guardedFetch(url, init) {
    const response = await inner(url, init);
    const { body, headers, status, statusText } = response;
    if (!body) return response;
    const id = headers.get("content-type")?.startsWith("text/event-stream") ? messageIdOf(init?.body) : undefined;
    let bytes = 0;
    let isResumable = false;
    let last = "";
    const end = (isTooLarge: boolean): void => {
      if (id !== undefined && !isResumable) setTimeout(() => onStreamEnd({ id, isTooLarge }), SETTLE_MS).unref();
    };
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const counted = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
            return end(false);
          }
          bytes += value.length;
          if (bytes > MOST_BYTES) {
            await reader.cancel();
            controller.error(new RangeError(`an answer of more than ${MOST_BYTES} bytes`));
            return end(true);
          }
          if (id !== undefined && !isResumable) {
            const text = last + Buffer.from(value).toString("latin1");
            isResumable = /(?:^|\n)id:/.test(text);
            last = text.slice(-3);
          }
          controller.enqueue(value);
        } catch (error) {
          controller.error(error);
          end(false);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(counted, { status, statusText, headers });
  };
}
