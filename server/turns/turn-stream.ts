import type { ServerResponse } from "node:http";
import type { TurnEvent } from "../../turn/events.ts";
import { EVENT_STREAM_HEADERS, startHeartbeat, writeWithBackpressure } from "../http/event-stream.ts";
import { AppError } from "../../errors/app-error.ts";

export interface TurnStreamOptions {
  /** As the headers name it. */
  turnId: string;
  /** Whose events they are: another's than `turnId` when that waited in line and found its key taken. */
  told: Promise<string>;
  /** Milliseconds between comments that keep proxies from closing a quiet stream. */
  heartbeatMs: number;
  /** Sends the headers alone, at once; otherwise they leave with the first event, in one packet. */
  headersAtOnce: boolean;
  /** What the client has had already. */
  after?: EventPosition;
}

/**
 * Sends a turn's events as server-sent events, one JSON object on one `data:` line each, with the id of its place. Reads on only as fast as
 * the client does; returns when the events end or the client has left.
 */
export async function sendTurnStream(
  response: ServerResponse,
  batches: AsyncIterable<TurnEvent[]>,
  { turnId, told, heartbeatMs, headersAtOnce, after }: TurnStreamOptions,
): Promise<void> {
  response.writeHead(200, { ...EVENT_STREAM_HEADERS, "x-turn-id": turnId });
  if (headersAtOnce) response.flushHeaders();
  const stopHeartbeat = startHeartbeat(response, heartbeatMs);
  try {
    let firstTokenSent = false;
    for await (const batch of eventsAfter(await told, batches, after)) {
      if (response.destroyed) return;
      const frames = batch.map(({ id, event }) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`).join("");
      await writeWithBackpressure(response, frames, { atOnce: !firstTokenSent });
      firstTokenSent ||= batch.some(({ event }) => event.status === "token");
    }
    response.end();
  } finally {
    stopHeartbeat();
  }
}

/** How far a client has come in a turn's events: the SSE id `<number>.<characters>.<turn>`. */
export interface EventPosition {
  /** Of the event, from 1; 0: before the first. */
  number: number;
  /** Of the answer, in UTF-16 code units, that were sent up to and with it. */
  characters: number;
  /** The last eight digits of the turn id that the stream named; undefined: whichever turn is told. */
  turn?: string | undefined;
}

export const BEGINNING: EventPosition = { number: 0, characters: 0 };

export const FORM = /^(\d{1,9})\.(\d{1,9})(?:\.([0-9a-f]{8}))?$/;

const turnOf = (turnId: string): string => turnId.slice(-8);

/** The header of a client that comes back. Throws AppError `invalid_request`. */
export function parseLastEventId(header: string | undefined): EventPosition {
  if (header === undefined || header === "") return BEGINNING;
  const [, number, characters, turn] = FORM.exec(header) ?? [];
  if (number !== undefined && characters !== undefined) return { number: Number(number), characters: Number(characters), turn };
  throw AppError.invalid([
    { field: "Last-Event-ID", problem: `"${header.slice(0, 80)}" is no id of an event; send the last "id" of the stream, unchanged` },
  ]);
}

/** An event with the id that leads behind it. */
export interface NumberedEvent {
  id: string;
  event: TurnEvent;
}

/**
 * Events of a turn from the first on, with their ids, without what a client at `after` has had. The number of characters decides what is
 * missing of the answer, so that one place means the same in the live events and in those made of a stored outcome, which are fewer; a token
 * that reaches beyond it is cut. Numbers go on behind that of `after`, and the last event is always sent. A place in another turn, an earlier
 * attempt at the same message, is none in this one: its events are told from the first.
 */
export async function* eventsAfter(
  turnId: string,
  batches: AsyncIterable<TurnEvent[]>,
  given: EventPosition = BEGINNING,
): AsyncGenerator<NumberedEvent[]> {
  const turn = turnOf(turnId);
  const after = given.turn === undefined || given.turn === turn ? given : BEGINNING;
  let place = 0;
  let told = 0;
  let { number } = after;

  function* placed(event: TurnEvent): Generator<NumberedEvent> {
    place++;
    let missing = event;
    if (event.status === "token") {
      const had = Math.max(0, after.characters - told);
      told += event.content.length;
      if (had >= event.content.length) return;
      if (had > 0) missing = { ...event, content: event.content.slice(had) };
    } else if (event.status !== "done" && event.status !== "error" && place <= after.number) return;
    number = Math.max(place, number + 1);
    yield { id: `${number}.${Math.max(told, after.characters)}.${turn}`, event: missing };
  }

  for await (const batch of batches) {
    const rest = batch.flatMap((event) => [...placed(event)]);
    if (rest.length > 0) yield rest;
  }
}
