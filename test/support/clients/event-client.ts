import { createParser } from "eventsource-parser";
import type { TurnEvent } from "../../../turn/events.ts";
import type { ErrorBody } from "./api-client.ts";

export type ReceivedEvent = { id: string | undefined; data: TurnEvent };

export interface EventStreamResponse {
  status: number;
  headers: Headers;
  events: ReceivedEvent[];
  json: ErrorBody | undefined;
}

export interface StreamOptions {
  headers?: Record<string, string>;
  path?: string;
  /** Return `leave` to drop the connection. */
  onEvent?: (event: ReceivedEvent, events: ReceivedEvent[]) => "leave" | void;
}

export interface BegunTurn {
  turnId: string;
  /** Its events, read to the end, or until the client leaves. */
  ended: Promise<EventStreamResponse>;
  leave(): void;
}

/** The events of a response to its end, or until `onEvent` ends it; its error when it has no events. */
export async function readEvents(
  response: Response,
  onEvent: (event: ReceivedEvent, events: ReceivedEvent[]) => unknown = () => undefined,
  leaving?: AbortSignal,
): Promise<EventStreamResponse> {
  const events: ReceivedEvent[] = [];
  const result = { status: response.status, headers: response.headers, events, json: undefined };
  if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
    return { ...result, json: (await response.json()) as ErrorBody };
  const parser = createParser({
    onEvent({ id, data }) {
      const event = { id, data: JSON.parse(data) as TurnEvent };
      events.push(event);
      onEvent(event, events);
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  } catch (error) {
    if (!leaving?.aborted) throw error;
  }
  return result;
}

/** Posts a turn and returns when its headers have come. */
export async function beginTurn(
  url: string,
  body: unknown,
  { headers = {}, path = "/api/v1/chat/stream", onEvent }: StreamOptions = {},
): Promise<BegunTurn> {
  const leaving = new AbortController();
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: leaving.signal,
  });
  const onRead: typeof onEvent = (event, events) => void (onEvent?.(event, events) === "leave" && leaving.abort());
  return {
    turnId: response.headers.get("x-turn-id") ?? "",
    ended: readEvents(response, onRead, leaving.signal),
    leave: () => leaving.abort(),
  };
}

/** Posts a turn and reads its events to the end, or until `onEvent` leaves. */
export async function postTurn(url: string, body: unknown, options: StreamOptions = {}): Promise<EventStreamResponse> {
  return (await beginTurn(url, body, options)).ended;
}

export function tokenText(events: ReceivedEvent[]): string {
  return events.map(({ data }) => (data.status === "token" ? data.content : "")).join("");
}

type EventOf<Status extends TurnEvent["status"]> = Extract<TurnEvent, { status: Status }>;

export function contentOf<Status extends TurnEvent["status"]>(events: ReceivedEvent[], status: Status): EventOf<Status>["content"] {
  const found = events.map(({ data }) => data).find((data): data is EventOf<Status> => data.status === status);
  if (!found) throw new Error(`no ${status} among ${events.map(({ data }) => data.status).join()}: ${JSON.stringify(events.at(-1)?.data)}`);
  return found.content as unknown as EventOf<Status>["content"];
}
