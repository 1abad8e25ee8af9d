import type { ServerResponse } from "node:http";
import type { SentBefore } from "../../graph/start-turn.ts";
import { LAST_STATUS, TurnEvent } from "../../turn/events.ts";
import { abortSignalOnClose, openEventStream } from "../http/event-stream.ts";
import type { TurnSource } from "./turn-source.ts";
import { AppError } from "../../errors/app-error.ts";
import { EVENT_ID } from "../http/headers.ts";

export const turnStream = {
  what: "Server-sent events: each `data:` line is one JSON object of this schema, each event has an `id:`. The last one is exactly one `done`, `error` or `waiting`.",
  content: { "text/event-stream": TurnEvent },
  headers: ["X-Turn-Id"],
} as const;

export interface TurnStreamOptions {
  turnId: string;
  heartbeatMs: number;
  /** Before the first event: the turn may wait in line. */
  flushHeaders: boolean;
  after?: EventPosition;
}

/** Sends no faster than the client reads, until the client has left. */
export async function sendTurnStream(
  response: ServerResponse,
  source: TurnSource,
  { turnId, heartbeatMs, flushHeaders, after }: TurnStreamOptions,
): Promise<void> {
  const clientLeft = abortSignalOnClose(response);
  using stream = openEventStream(response, { heartbeatMs, headers: { "x-turn-id": turnId } });
  if (flushHeaders) stream.flushHeaders();
  let firstTokenSent = false;
  for await (const batch of eventsAfter(
    (await source.streamedTurnId) ?? source.turnId,
    source.eventBatches(clientLeft),
    after,
    source.before,
  )) {
    if (response.destroyed) return;
    const events = batch.map(({ id, event }) => ({ id, data: JSON.stringify(event) }));
    await stream.send(events, { atOnce: !firstTokenSent });
    firstTokenSent ||= batch.some(({ event }) => event.status === "token");
  }
  stream.end();
}

/** The SSE id `<number>.<characters>.<turn>`. */
export interface EventPosition {
  /** From 1; 0: before the first event. */
  number: number;
  /** The sent characters of the answer, in UTF-16 code units. */
  characters: number;
  /** The last eight digits of its id; undefined: any turn. */
  turn?: string | undefined;
}

export const BEGINNING: EventPosition = { number: 0, characters: 0 };

const lastDigits = (turnId: string): string => turnId.slice(-8);

/** Throws AppError `invalid_request`. */
export function parseLastEventId(header: string | undefined): EventPosition {
  if (header === undefined || header === "") return BEGINNING;
  const [, number, characters, turn] = EVENT_ID.exec(header) ?? [];
  if (number !== undefined && characters !== undefined) return { number: Number(number), characters: Number(characters), turn };
  throw AppError.invalid([
    { field: "Last-Event-ID", problem: `"${header.slice(0, 80)}" is no id of an event; send the last "id" of the stream, unchanged` },
  ]);
}

const LAST: ReadonlySet<string> = new Set(LAST_STATUS);
const EVENTS_PER_LEG = 1_000_000;

export interface NumberedEvent {
  id: string;
  event: TurnEvent;
}

/**
 * The events that a client at `position` has not had. Live and stored events differ in number but not in characters, so characters decide
 * and cut a token. The last event is always sent. A position in another turn counts as the beginning. After a question the numbers go on
 * with the next million.
 */
export async function* eventsAfter(
  turnId: string,
  batches: AsyncIterable<TurnEvent[]>,
  position: EventPosition = BEGINNING,
  sentBefore: () => SentBefore | undefined = () => undefined,
): AsyncGenerator<NumberedEvent[]> {
  const turn = lastDigits(turnId);
  const after = position.turn === undefined || position.turn === turn ? position : BEGINNING;
  let index = 0;
  let characters = 0;
  let { number } = after;

  function* missing(event: TurnEvent): Generator<NumberedEvent> {
    index++;
    let rest = event;
    if (event.status === "token") {
      const had = Math.max(0, after.characters - characters);
      characters += event.content.length;
      if (had >= event.content.length) return;
      if (had > 0) rest = { ...event, content: event.content.slice(had) };
    } else if (!LAST.has(event.status) && index <= after.number) return;
    number = Math.max(index, number + 1);
    yield { id: `${number}.${Math.max(characters, after.characters)}.${turn}`, event: rest };
  }

  for await (const batch of batches) {
    if (index === 0) {
      const before = sentBefore();
      index = (before?.legs ?? 0) * EVENTS_PER_LEG;
      characters = before?.characters ?? 0;
    }
    const events = batch.flatMap((event) => [...missing(event)]);
    if (events.length > 0) yield events;
  }
}
