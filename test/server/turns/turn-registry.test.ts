import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { makeEventLog } from "../../../graph/event-log.ts";
import type { LastEvent, RunningTurn } from "../../../graph/start-turn.ts";
import type { TurnEvent } from "../../../turn/events.ts";
import { makeTurnRegistry, type RegistryLimits, type TurnRegistry } from "../../../server/turns/turn-registry.ts";

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

  test("stay for a time after their end, and however long they run", async () => {
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

  test("have a largest number: the one that ended first goes first, those that run stay", async () => {
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
  ])("have a largest size, counted by their %s: the oldest make room", async (_what, textsOf) => {
    registry = makeTurnRegistry({ ...BOUNDLESS, bytes: 100 * 1024 });
    for (const id of ["1", "2", "3"]) await addEnded(id, ...(textsOf(25) as [string[], string]));
    expect(known("1", "2", "3")).toEqual(["1", "2", "3"]);
    await addEnded("large", ...(textsOf(50) as [string[], string]));
    expect(known("1", "2", "3", "large")).toEqual(["3", "large"]);
    await addEnded("too large", ...(textsOf(150) as [string[], string]));
    expect(known("3", "large", "too large")).toEqual([]);
  });

  test("that are gone make room, however they went", async () => {
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

  test("say whether they were let in, and how they ended", async () => {
    registry = makeTurnRegistry(BOUNDLESS);
    const end = add("turn");
    await jest.advanceTimersByTimeAsync(0);
    expect(registry.find("turn")).toMatchObject({ isAccepted: true, last: null });
    await end("Hi.");
    expect(registry.find("turn")?.last).toMatchObject({ status: "done", content: { answer: "Hi." } });
    expect(registry.find("other")).toBeNull();
  });
});
