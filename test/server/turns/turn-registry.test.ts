import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { makeEventLog } from "../../../graph/event-log.ts";
import type { LastEvent, RunningTurn } from "../../../graph/start-turn.ts";
import type { TurnEvent } from "../../../turn/events.ts";
import { makeTurnRegistry, type RegistryLimits, type TurnRegistry } from "../../../server/turns/turn-registry.ts";
import fc from "fast-check";
import { type EventPosition, parseLastEventId, type NumberedEvent, eventsAfter } from "../../../server/turns/turn-stream.ts";

const BOUNDLESS: RegistryLimits = { keptMs: 60_000, turns: Infinity, bytes: Infinity };
/** A kibibyte, as texts are held in memory. */
const KIBIBYTE = "x".repeat(512);
const copies = (count: number, text = KIBIBYTE): string[] => Array.from({ length: count }, () => text);
describe("turns in memory", () => {
  let registry: TurnRegistry;
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** Adds a turn with these tokens; the returned function ends it. */
  function add(turnId: string, tokens: string[] = []): (answer?: string) => Promise<void> {
    const log = makeEventLog<TurnEvent>();
    const { promise: ended, resolve } = Promise.withResolvers<LastEvent>();
    for (const content of tokens) log.append({ status: "token", content });
    const turn: RunningTurn = {
      turnId,
      accepted: Promise.resolve({ conversationId: "conversation", messageId: "message" }),
      async *events() {
        for await (const batch of log.readBatches()) yield* batch;
      },
      eventBatches: () => log.readBatches(),
      cancel: () => undefined,
      ended,
    };
    registry.add(turn, { tenantId: "tenant", userId: "user", sessionId: "one" });
    return async function end(answer = "") {
      const last = { status: "done", content: { answer } } as LastEvent;
      log.append(last);
      log.end();
      resolve(last);
      await jest.advanceTimersByTimeAsync(0);
    };
  }
  const addEnded = (turnId: string, tokens?: string[], answer?: string): Promise<void> => add(turnId, tokens)(answer);
  const known = (...ids: string[]): string[] => ids.filter((id) => registry.find(id) !== null);

  test("stay for a time after their end, and for as long as they run", async () => {
    registry = makeTurnRegistry({ ...BOUNDLESS, keptMs: 1_000 });
    const endSlow = add("slow");
    await addEnded("first");
    await jest.advanceTimersByTimeAsync(600);
    await addEnded("second");
    expect(known("slow", "first", "second")).toEqual(["slow", "first", "second"]);
    await jest.advanceTimersByTimeAsync(600);
    expect(known("slow", "first", "second")).toEqual(["slow", "second"]);
    await endSlow();
    await jest.advanceTimersByTimeAsync(900);
    expect(known("slow", "second")).toEqual(["slow"]);
    await jest.advanceTimersByTimeAsync(200);
    expect(known("slow")).toEqual([]);
  });

  test("have a largest number, and the first one to end is dropped first while running ones stay", async () => {
    registry = makeTurnRegistry({ ...BOUNDLESS, turns: 2 });
    const endSlow = add("slow");
    for (const id of ["1", "2", "3"]) await addEnded(id);
    expect(known("slow", "1", "2", "3")).toEqual(["slow", "2", "3"]);
    await endSlow();
    expect(known("slow", "1", "2", "3")).toEqual(["slow", "3"]);
  });

  test.each([
    ["tokens", (size: number) => [copies(size), ""] as const],
    ["answers", (size: number) => [[], KIBIBYTE.repeat(size)] as const],
    ["events", (size: number) => [copies(size * 7, ""), ""] as const],
  ])("have a largest size, counted by their %s, and the oldest are dropped", async (_what, textsOf) => {
    registry = makeTurnRegistry({ ...BOUNDLESS, bytes: 100 * 1024 });
    for (const id of ["1", "2", "3"]) await addEnded(id, ...(textsOf(25) as [string[], string]));
    expect(known("1", "2", "3")).toEqual(["1", "2", "3"]);
    await addEnded("large", ...(textsOf(50) as [string[], string]));
    expect(known("1", "2", "3", "large")).toEqual(["3", "large"]);
    await addEnded("too large", ...(textsOf(150) as [string[], string]));
    expect(known("3", "large", "too large")).toEqual([]);
  });

  test("make room when they are dropped, for whatever reason", async () => {
    registry = makeTurnRegistry({ keptMs: 1_000, turns: 2, bytes: 100 * 1024 });
    for (let round = 0; round < 5; round++) {
      const ids = ["1", "2", "3"].map((number) => `${round} ${number}`);
      for (const id of ids) await addEnded(id, copies(40));
      expect(known(...ids)).toEqual(ids.slice(1));
      await jest.advanceTimersByTimeAsync(2_000);
      expect(known(...ids)).toEqual([]);
    }
    expect(jest.getTimerCount()).toBe(0);
  });

  test("show whether they were accepted, and how they ended", async () => {
    registry = makeTurnRegistry(BOUNDLESS);
    const end = add("turn");
    await jest.advanceTimersByTimeAsync(0);
    expect(registry.find("turn")).toMatchObject({ isAccepted: true, last: null });
    await end("Hi.");
    expect(registry.find("turn")?.last).toMatchObject({ status: "done", content: { answer: "Hi." } });
    expect(registry.find("other")).toBeNull();
  });
});

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
  test("is its number, the count of characters sent so far and the end of the turn's id", async () => {
    const placed = await place([ROUTE, token("ab"), NOTICE, token("cde"), DONE]);
    expect(placed.map(({ id }) => id)).toEqual(["1.0", "2.2", "3.2", "4.5", "5.5"].map((start) => `${start}.37f95833`));
  });

  test.each(["x", "12", "1.2.3", "1.2.37F95833", "-1.0", "1.", ".5", " 1.2", "1e3.1", "9999999999.1"])(
    "is refused in another form: %p",
    (header) => expect(() => parseLastEventId(header)).toThrow(/Last-Event-ID/),
  );

  test.each([undefined, "", "0.0"])("is read as the beginning when it is %p", (header) => {
    expect(parseLastEventId(header)).toEqual({ number: 0, characters: 0 });
  });
});
const tokens = fc.array(fc.string({ minLength: 1, maxLength: 5, unit: "binary" }), { minLength: 1, maxLength: 8 });
describe("a client that comes back", () => {
  test("to another attempt at its message gets this attempt from the first event", async () => {
    const events = [ROUTE, token("another answer"), DONE];
    expect(await place(events, parseLastEventId("7.9.00000000"))).toEqual(await place(events));
    expect(textOf(await place(events, parseLastEventId("7.9.37f95833")))).toBe("nswer");
    expect(textOf(await place(events, parseLastEventId("7.9")))).toBe("nswer");
  });

  test("gets exactly the events after its place, with the same ids", async () => {
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

  test("gets the whole answer once, from live and stored events in any order", async () => {
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

  test("with a place after the end gets only the end", async () => {
    expect(await place([ROUTE, token("ab"), DONE], { number: 999, characters: 999 })).toEqual([{ id: "1000.999.37f95833", event: DONE }]);
  });
});
