import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { makeEventLog } from "../../../graph/event-log.ts";
import type { LastEvent, RunningTurn } from "../../../graph/start-turn.ts";
import type { TurnEvent } from "../../../turn/events.ts";
import { makeTurnRegistry, type RegistryLimits, type TurnRegistry } from "../../../server/turns/turn-registry.ts";

const OWNER = { tenantId: "tenant", userId: "user" };
const BOUNDLESS: RegistryLimits = { keptMs: 60_000, turns: Infinity, bytes: Infinity };
/** A kibibyte, as texts are held in memory. */
const KIBIBYTE = "x".repeat(512);

/** A turn that says what it is told to, and ends when it is told to. */
function scriptedTurn(turnId: string, tokens: string[] = []) {
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
  return {
    turn,
    async end(answer = "") {
      const last = { status: "done", content: { answer } } as LastEvent;
      log.append(last);
      log.end();
      resolve(last);
      await jest.advanceTimersByTimeAsync(0);
    },
  };
}

describe("turns in memory", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function add(registry: TurnRegistry, turnId: string, tokens?: string[]) {
    const scripted = scriptedTurn(turnId, tokens);
    registry.add(scripted.turn, OWNER);
    return scripted;
  }
  const addEnded = (registry: TurnRegistry, turnId: string, tokens?: string[], answer?: string): Promise<void> =>
    add(registry, turnId, tokens).end(answer);
  const left = (registry: TurnRegistry, ...ids: string[]): string[] => ids.filter((id) => registry.find(id) !== null);

  test("stay for so long after their end, and however long they run", async () => {
    const registry = makeTurnRegistry({ ...BOUNDLESS, keptMs: 1_000 });
    const slow = add(registry, "slow");
    await addEnded(registry, "first");
    await jest.advanceTimersByTimeAsync(600);
    await addEnded(registry, "second");
    expect(left(registry, "slow", "first", "second")).toEqual(["slow", "first", "second"]);
    await jest.advanceTimersByTimeAsync(600);
    expect(left(registry, "slow", "first", "second")).toEqual(["slow", "second"]);
    await slow.end();
    await jest.advanceTimersByTimeAsync(900);
    expect(left(registry, "slow", "second")).toEqual(["slow"]);
    await jest.advanceTimersByTimeAsync(200);
    expect(left(registry, "slow")).toEqual([]);
  });

  test("are so many at most: the one that ended first goes first, those that run stay", async () => {
    const registry = makeTurnRegistry({ ...BOUNDLESS, turns: 2 });
    const slow = add(registry, "slow");
    for (const id of ["1", "2", "3"]) await addEnded(registry, id);
    expect(left(registry, "slow", "1", "2", "3")).toEqual(["slow", "2", "3"]);
    await slow.end();
    expect(left(registry, "slow", "1", "2", "3")).toEqual(["slow", "3"]);
  });

  test.each([
    ["tokens", (size: number) => [Array.from({ length: size }, () => KIBIBYTE), ""] as const],
    ["answers", (size: number) => [[], KIBIBYTE.repeat(size)] as const],
  ])("take so much at most: the oldest make room, counted by their %s", async (_what, textsOf) => {
    const registry = makeTurnRegistry({ ...BOUNDLESS, bytes: 100 * 1024 });
    for (const id of ["1", "2", "3"]) await addEnded(registry, id, ...(textsOf(25) as [string[], string]));
    expect(left(registry, "1", "2", "3")).toEqual(["1", "2", "3"]);
    await addEnded(registry, "large", ...(textsOf(50) as [string[], string]));
    expect(left(registry, "1", "2", "3", "large")).toEqual(["3", "large"]);
  });

  test("count their events, too: many short ones are as much as a long text", async () => {
    const registry = makeTurnRegistry({ ...BOUNDLESS, bytes: 100 * 1024 });
    await addEnded(registry, "short");
    await addEnded(
      registry,
      "many",
      Array.from({ length: 2_000 }, () => "x"),
    );
    expect(left(registry, "short", "many")).toEqual([]);
  });

  test("that are gone give their room back, however they went", async () => {
    const registry = makeTurnRegistry({ keptMs: 1_000, turns: 2, bytes: 100 * 1024 });
    const tokens = Array.from({ length: 40 }, () => KIBIBYTE);
    for (let round = 0; round < 5; round++) {
      for (const id of ["1", "2", "3"]) await addEnded(registry, `${round} ${id}`, tokens);
      expect(left(registry, `${round} 1`, `${round} 2`, `${round} 3`)).toEqual([`${round} 2`, `${round} 3`]);
      await jest.advanceTimersByTimeAsync(2_000);
      expect(left(registry, `${round} 2`, `${round} 3`)).toEqual([]);
    }
    expect(jest.getTimerCount()).toBe(0);
  });

  test("say whether they were let in, and how they ended", async () => {
    const registry = makeTurnRegistry(BOUNDLESS);
    const turn = add(registry, "turn");
    await jest.advanceTimersByTimeAsync(0);
    expect(registry.find("turn")).toMatchObject({ isAccepted: true, last: null });
    await turn.end("Hi.");
    expect(registry.find("turn")?.last).toMatchObject({ status: "done", content: { answer: "Hi." } });
    expect(registry.find("other")).toBeNull();
  });
});
