import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { TurnEvent } from "../../../turn/events.ts";
import { type EventPosition, parseLastEventId, type NumberedEvent, eventsAfter } from "../../../server/turns/turn-stream.ts";

const ROUTE = { status: "route_decision", content: { kb_prefix: "general" } } as TurnEvent;
const NOTICE = { status: "notice", content: { code: "context_trimmed", message: "shortened" } } as TurnEvent;
const DONE = { status: "done", content: { completed: true } } as TurnEvent;
const token = (content: string): TurnEvent => ({ status: "token", content });

const TURN = "01a202b1-a89e-7671-8609-822c37f95833";

async function* inBatches(events: TurnEvent[], size: number): AsyncGenerator<TurnEvent[]> {
  for (let start = 0; start < events.length; start += size) yield events.slice(start, start + size);
}

async function place(events: TurnEvent[], after?: EventPosition, size = 3): Promise<NumberedEvent[]> {
  const placed: NumberedEvent[] = [];
  for await (const batch of eventsAfter(TURN, inBatches(events, size), after)) placed.push(...batch);
  return placed;
}

const textOf = (placed: NumberedEvent[]): string => placed.map(({ event }) => (event.status === "token" ? event.content : "")).join("");
const numberOf = ({ id }: NumberedEvent): number => parseLastEventId(id).number;

describe("the id of an event", () => {
  test("is its number, the characters of the answer sent so far and the end of the turn's id", async () => {
    const placed = await place([ROUTE, token("ab"), NOTICE, token("cde"), DONE]);
    expect(placed.map(({ id }) => id)).toEqual(["1.0", "2.2", "3.2", "4.5", "5.5"].map((start) => `${start}.37f95833`));
  });

  test.each(["x", "12", "1.2.3", "1.2.37F95833", "-1.0", "1.", ".5", " 1.2", "1e3.1", "9999999999.1"])(
    "is refused in another form: %p",
    (header) => expect(() => parseLastEventId(header)).toThrow(/Last-Event-ID/),
  );

  test.each([undefined, "", "0.0"])("of the beginning is %p", (header) => {
    expect(parseLastEventId(header)).toEqual({ number: 0, characters: 0 });
  });
});

const tokens = fc.array(fc.string({ minLength: 1, maxLength: 5, unit: "binary" }), { minLength: 1, maxLength: 8 });

describe("a client that comes back", () => {
  test("to another attempt at its message gets that one from its first event", async () => {
    const events = [ROUTE, token("another answer"), DONE];
    expect(await place(events, parseLastEventId("7.9.00000000"))).toEqual(await place(events));
    expect(textOf(await place(events, parseLastEventId("7.9.37f95833")))).toBe("nswer");
    expect(textOf(await place(events, parseLastEventId("7.9")))).toBe("nswer");
  });

  test("gets of the same events exactly those behind its place, with the ids that they had", async () => {
    await fc.assert(
      fc.asyncProperty(tokens, fc.nat(), fc.integer({ min: 1, max: 4 }), async (words, at, size) => {
        const events = [ROUTE, ...words.slice(0, 1).map(token), NOTICE, ...words.slice(1).map(token), DONE];
        const all = await place(events, undefined, size);
        const had = at % all.length;
        const rest = await place(events, parseLastEventId(all[had]?.id), size);
        const isAtTheEnd = had === all.length - 1;
        expect(isAtTheEnd ? rest.map(({ event }) => event) : rest).toEqual(isAtTheEnd ? [DONE] : all.slice(had + 1));
      }),
    );
  });

  test("gets the whole answer once, whether each part is live or made of the outcome, in any order", async () => {
    await fc.assert(
      fc.asyncProperty(tokens, fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 4 }), async (words, breaks) => {
        const live = [ROUTE, ...words.map(token), DONE];
        const stored = [ROUTE, NOTICE, token(words.join("")), DONE];
        const received: NumberedEvent[] = [];
        for (const [isLive, at] of [...breaks, [true, Infinity] as const]) {
          const part = await place(isLive ? live : stored, parseLastEventId(received.at(-1)?.id));
          received.push(
            ...part.filter(({ event }) => at === Infinity || event.status !== "done").slice(0, at === Infinity ? undefined : at % 5),
          );
        }
        expect(textOf(received)).toBe(words.join(""));
        expect(received.at(-1)?.event).toBe(DONE);
        const numbers = received.map(numberOf);
        expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
      }),
    );
  });

  test("who claims to have had more than there is gets the end", async () => {
    expect(await place([ROUTE, token("ab"), DONE], { number: 999, characters: 999 })).toEqual([{ id: "1000.999.37f95833", event: DONE }]);
  });
});
