import { AppError } from "../errors/app-error.ts";
import type { TurnEvent } from "../graph/turn-event.ts";

/** How far a client has come in a turn's events: the SSE id `<number>.<characters>`. */
export interface EventPosition {
  /** Of the event, from 1; 0: before the first. */
  number: number;
  /** Of the answer, in UTF-16 code units, that were sent up to and with it. */
  characters: number;
}

export const BEGINNING: EventPosition = { number: 0, characters: 0 };

export const FORM = /^(\d{1,9})\.(\d{1,9})$/;

/** The header of a client that comes back. Throws AppError `invalid_request`. */
export function parseLastEventId(header: string | undefined): EventPosition {
  if (header === undefined || header === "") return BEGINNING;
  const [, number, characters] = FORM.exec(header) ?? [];
  if (number !== undefined && characters !== undefined) return { number: Number(number), characters: Number(characters) };
  throw AppError.invalid([
    { field: "Last-Event-ID", problem: `"${header.slice(0, 80)}" is no id of an event; send the last "id" of the stream, unchanged` },
  ]);
}

/** An event with the id that leads behind it. */
export interface PlacedEvent {
  id: string;
  event: TurnEvent;
}

/**
 * Events from the first on, with their ids, without what a client at `after` has had. The number of characters decides what is missing of
 * the answer, so that one place means the same in the live events and in those made of a stored outcome, which are fewer; a token that
 * reaches beyond it is cut. Numbers go on behind that of `after`, and the last event is always sent.
 */
export async function* placeEvents(batches: AsyncIterable<TurnEvent[]>, after: EventPosition = BEGINNING): AsyncGenerator<PlacedEvent[]> {
  let place = 0;
  let told = 0;
  let { number } = after;

  function* placed(event: TurnEvent): Generator<PlacedEvent> {
    place++;
    let missing = event;
    if (event.status === "token") {
      const had = Math.max(0, after.characters - told);
      told += event.content.length;
      if (had >= event.content.length) return;
      if (had > 0) missing = { ...event, content: event.content.slice(had) };
    } else if (event.status !== "done" && event.status !== "error" && place <= after.number) return;
    number = Math.max(place, number + 1);
    yield { id: `${number}.${Math.max(told, after.characters)}`, event: missing };
  }

  for await (const batch of batches) {
    const rest = batch.flatMap((event) => [...placed(event)]);
    if (rest.length > 0) yield rest;
  }
}
