import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { beginTurn, makeKeyedQueue } from "../../nodes/acquire-conversation.ts";
import { ReplyLost } from "../../stores/postgres/database/storage-errors.ts";
import type { OutcomeToStore, TurnStore } from "../../stores/postgres/conversations/turn-store.ts";
import { makeFakeTurnStore } from "./fake-turn-store.ts";
import { sampleTurn } from "../support/samples/sample-turns.ts";
import type { BeginTurn, BegunTurn, HeldTurn } from "../../stores/postgres/conversations/begin-turn.ts";

const BEGUN: BegunTurn = { conversationId: "conversation", messageId: "message" };

/** Answers `begin` with null so many times, then lets everyone in; `asked` names the messages in the order they asked. */
function busyFor(times: number) {
  const asked: string[] = [];
  const turns = makeFakeTurnStore({
    begin: async ({ message }: BeginTurn) => {
      asked.push(message);
      return asked.length > times ? BEGUN : null;
    },
  });
  return { asked, parts: { turns, line: makeKeyedQueue() } };
}

describe("beginTurn", () => {
  test("takes a free conversation at once", async () => {
    const { parts, asked } = busyFor(0);
    expect(await beginTurn(parts, sampleTurn(), { onBusy: "refuse", signal: undefined })).toEqual(BEGUN);
    expect(asked).toHaveLength(1);
  });

  test("refuses a busy one with conversation_busy, names the session and says how to wait", async () => {
    const { parts, asked } = busyFor(100);
    const refused = await beginTurn(parts, sampleTurn({ sessionId: "holiday" }), { onBusy: "refuse", signal: undefined }).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: "conversation_busy", retryable: true });
    expect((refused as AppError).message).toMatch(/"holiday".*"on_busy": "enqueue"/);
    expect(asked).toHaveLength(1);
  });

  test("waits for a busy one when told to", async () => {
    const { parts, asked } = busyFor(3);
    expect(await beginTurn(parts, sampleTurn(), { onBusy: "enqueue", signal: undefined })).toEqual(BEGUN);
    expect(asked).toHaveLength(4);
  });

  test("lets those that wait for the same conversation in as they came", async () => {
    const { parts, asked } = busyFor(3);
    const turn = sampleTurn();
    const waiting = ["first", "second", "third"].map((message) =>
      beginTurn(parts, { ...turn, message }, { onBusy: "enqueue", signal: undefined }),
    );
    await Promise.all(waiting);
    expect(asked).toEqual(["first", "first", "first", "first", "second", "third"]);
  });

  test("does not let one conversation wait for another, also when their names run together", async () => {
    const parts = {
      turns: makeFakeTurnStore({ begin: async ({ userId }) => (userId === "busy" ? null : BEGUN) }),
      line: makeKeyedQueue(),
    };
    const leaving = new AbortController();
    const waiting = beginTurn(parts, sampleTurn({ userId: "busy", sessionId: "s" }), { onBusy: "enqueue", signal: leaving.signal });
    waiting.catch(() => undefined);
    const other = sampleTurn({ userId: "b", sessionId: "usys" });
    expect(await beginTurn(parts, other, { onBusy: "enqueue", signal: undefined })).toEqual(BEGUN);
    leaving.abort(new AppError("turn_cancelled", "stopped"));
    await expect(waiting).rejects.toMatchObject({ code: "turn_cancelled" });
  });

  test("gives up its place with the signal's reason when it is cancelled, and the next one gets in", async () => {
    const { parts, asked } = busyFor(2);
    const reason = new AppError("turn_cancelled", "stopped");
    const leaving = new AbortController();
    const turn = sampleTurn();
    const first = beginTurn(parts, { ...turn, message: "first" }, { onBusy: "enqueue", signal: leaving.signal });
    const second = beginTurn(parts, { ...turn, message: "second" }, { onBusy: "enqueue", signal: undefined });
    leaving.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(await second).toEqual(BEGUN);
    expect(asked.at(-1)).toBe("second");
  });

  test("does not ask for a conversation when it was cancelled before its turn came", async () => {
    const { parts, asked } = busyFor(0);
    const reason = new AppError("turn_cancelled", "stopped");
    await expect(beginTurn(parts, sampleTurn(), { onBusy: "enqueue", signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(asked).toEqual([]);
  });

  test("hands a failure of the store on", async () => {
    const failure = new AppError("storage_unavailable", "gone");
    const parts = { turns: makeFakeTurnStore({ begin: () => Promise.reject(failure) }), line: makeKeyedQueue() };
    for (const onBusy of ["refuse", "enqueue"] as const) {
      await expect(beginTurn(parts, sampleTurn(), { onBusy, signal: undefined })).rejects.toBe(failure);
    }
  });

  describe("when the reply of Postgres was lost", () => {
    const refusal = new ReplyLost(new Error("the connection ended"));
    const away = (): Promise<never> => Promise.reject(new AppError("storage_unavailable", "away"));
    const alone = { onBusy: "refuse" as const, signal: undefined };
    const partsWith = (calls: Partial<TurnStore>) => ({
      turns: makeFakeTurnStore({ begin: () => Promise.reject(refusal), ...calls }),
      line: makeKeyedQueue(),
    });

    test("goes on with what was stored", async () => {
      const answers = [away, () => Promise.resolve(BEGUN)];
      const parts = partsWith({ findBegun: () => (answers.shift() as () => Promise<BegunTurn>)() });
      expect(await beginTurn(parts, sampleTurn(), alone)).toEqual(BEGUN);
    });

    test("refuses the turn when nothing was stored, at once", async () => {
      const parts = partsWith({ findBegun: async () => null });
      await expect(beginTurn(parts, sampleTurn(), alone)).rejects.toBe(refusal);
    });

    test("refuses the turn when Postgres stays away, and takes back what was stored when it is there again", async () => {
      let isBack = false;
      const taken = Promise.withResolvers<HeldTurn>();
      const parts = partsWith({
        findBegun: () => (isBack ? Promise.resolve(BEGUN) : away()),
        takeBack: async (held) => taken.resolve(held),
      });
      const turn = sampleTurn();
      await expect(beginTurn(parts, turn, alone)).rejects.toBe(refusal);
      isBack = true;
      const { tenantId, userId, turnId } = turn;
      expect(await taken.promise).toEqual({ tenantId, userId, turnId, conversationId: BEGUN.conversationId });
    }, 15_000);

    test("ends a turn with a key then, so that the key leads to another attempt at the message that is stored", async () => {
      let isBack = false;
      const ended = Promise.withResolvers<OutcomeToStore | undefined>();
      const parts = partsWith({
        findBegun: () => (isBack ? Promise.resolve(BEGUN) : away()),
        async finish(_held, _answer, _jobs, outcome) {
          ended.resolve(outcome);
          return "stored";
        },
      });
      const key = { keyHash: "key", bodyHash: "body", earlier: null };
      await expect(beginTurn(parts, sampleTurn({ key }), alone)).rejects.toBe(refusal);
      isBack = true;
      expect(await ended.promise).toMatchObject({ outcome: { error: { code: "storage_unavailable", retryable: true } } });
    }, 15_000);
  });
});
