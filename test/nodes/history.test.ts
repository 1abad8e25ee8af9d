import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { beginTurn, makeKeyedQueue } from "../../nodes/take-turn.ts";
import { type HistoryParts, makeHistory } from "../../nodes/history.ts";
import type { BeginTurn, BegunTurn, HeldTurn } from "../../stores/postgres/turns/recover-turn.ts";
import type { OutcomeToStore } from "../../stores/postgres/turns/recover-turn.ts";
import type { TurnRecordStore } from "../../stores/postgres/turns/turn-record-store.ts";
import type { TurnStore } from "../../stores/postgres/turns/turn-store.ts";
import { ReplyLost } from "../../stores/postgres/database/storage-errors.ts";
import type { Recallable } from "../../stores/postgres/memory/episode-store.ts";
import type { OnBusy } from "../../turn/context.ts";
import type { ConversationState } from "../../turn/state.ts";
import { sampleTurn } from "../support/samples/sample-turns.ts";
import { makeFakeTurnStore } from "./fake-turn-store.ts";

const STATE = {
  tenantId: "tenant",
  userId: "ada",
  sessionId: "s",
  message: "Where did I park?",
  pictures: [] as unknown[],
} as ConversationState;

const NOTHING_WAITS: HistoryParts["questions"] = { waitingIn: async () => null, cancel: async () => null };
/** A turn that begins only when `letIn` is called. */
function waitingTurn(checkRecallable: () => Promise<Recallable>, parts: Partial<HistoryParts> = {}) {
  const begun = Promise.withResolvers<{ conversationId: string; messageId: string }>();
  const finished: string[] = [];
  const foreseen: string[] = [];
  const history = makeHistory({
    turns: makeFakeTurnStore({
      begin: () => begun.promise,
      finish: async ({ conversationId }) => {
        finished.push(conversationId);
        return "stored";
      },
    }),
    records: { interrupt: async () => undefined },
    questions: NOTHING_WAITS,
    pictures: { ofMessages: async () => new Map() },
    windows: { load: async () => ({ summary: null, messages: [], isWhole: true, lastErasure: null }) },
    historyWindow: 6,
    tokenBudget: () => 1_000,
    useSummary: true,
    episodes: { checkRecallable },
    scope: "user",
    foresee: (question) => void foreseen.push(question),
    catchUp: (_owner, ids) => void foreseen.push(...ids),
    leaseMs: 1_000,
    ...parts,
  });
  const letIn = () => begun.resolve({ conversationId: "c", messageId: "m" });
  return { foreseen, finished, letIn, read: Promise.resolve(history(STATE, {})) };
}

const [elsewhere, isSummarised] = [true, true];
describe("the node history", () => {
  test.each<[string, Partial<Recallable>, Partial<HistoryParts>, boolean, boolean]>([
    ["the user has episodes in other conversations", { elsewhere }, {}, true, true],
    ["the conversation has a summary", { isSummarised }, {}, true, false],
    ["the conversation has a summary, and no other one is recalled", { elsewhere, isSummarised }, { scope: "conversation" }, true, false],
    ["exchanges of other conversations wait to be indexed", { waiting: ["other"] }, {}, true, true],
    ["there is nothing to recall", {}, {}, false, false],
    ["summaries are switched off", { isSummarised }, { useSummary: false }, false, false],
    ["only other conversations have episodes, and they are not recalled", { elsewhere }, { scope: "conversation" }, false, false],
  ])("knows before the turn has begun what will be searched when %s", async (_, look, parts, isForeseen, hasEpisodes) => {
    const turn = waitingTurn(async () => ({ elsewhere: false, isSummarised: false, waiting: [], ...look }), parts);
    await nextTick();
    expect(turn.foreseen).toEqual([...(look.waiting ?? []), ...(isForeseen ? [STATE.message] : [])]);
    turn.letIn();
    expect(await turn.read).toMatchObject({ hasEpisodes });
  });

  test("releases the conversation when its look at the user's episodes fails", async () => {
    const turn = waitingTurn(() => Promise.reject(new AppError("internal_error", "broken")));
    await nextTick();
    turn.letIn();
    await expect(turn.read).rejects.toMatchObject({ message: "broken" });
    expect(turn.finished).toEqual(["c"]);
  });

  test("looks and loads again when Postgres is away for a moment, because the message is stored by then", async () => {
    const looks = [
      () => Promise.reject(new AppError("storage_unavailable", "away")),
      () => Promise.resolve({ elsewhere: true, isSummarised: false, waiting: [] }),
    ];
    const turn = waitingTurn(() => (looks.shift() as () => Promise<Recallable>)());
    turn.letIn();
    expect(await turn.read).toMatchObject({ conversationId: "c", hasEpisodes: true });
    expect(turn.finished).toEqual([]);
  });
});

const BEGUN: BegunTurn = { conversationId: "conversation", messageId: "message" };
/** Begins turns over a store: they wait in line unless `onBusy` says otherwise. */
function beginningOver(calls: Partial<TurnStore>, interrupt: TurnRecordStore["interrupt"] = async () => undefined) {
  const parts = { turns: makeFakeTurnStore(calls), records: { interrupt }, questions: NOTHING_WAITS, line: makeKeyedQueue() };
  return (fields: Partial<BeginTurn> = {}, { onBusy = "enqueue", signal }: { onBusy?: OnBusy; signal?: AbortSignal } = {}) =>
    beginTurn(parts, sampleTurn({ sessionId: "holiday", ...fields }), { onBusy, signal });
}

/** A conversation that is busy for the first `times` questions; `asked` names the messages in the order they asked. */
function busyFor(times: number) {
  const asked: string[] = [];
  const begin = beginningOver({
    begin: async ({ message }) => {
      asked.push(message);
      return asked.length > times ? BEGUN : null;
    },
  });
  return { asked, begin };
}

describe("beginTurn", () => {
  test("takes a free conversation at once, and a busy one in the order in which the turns came", async () => {
    const { begin, asked } = busyFor(3);
    const waiting = ["first", "second", "third"].map((message) => begin({ message }));
    expect(await Promise.all(waiting)).toEqual([BEGUN, BEGUN, BEGUN]);
    expect(asked).toEqual(["first", "first", "first", "first", "second", "third"]);
    expect(await begin({}, { onBusy: "refuse" })).toEqual(BEGUN);
    expect(asked).toHaveLength(7);
  });

  test("lets an interrupting turn in before waiting ones, asks until the holder has ended, and never stops a turn of the same key", async () => {
    const interrupted: unknown[] = [];
    const asked: string[] = [];
    const begin = beginningOver(
      {
        begin: async ({ message }) => {
          asked.push(message);
          return message !== "waits" && interrupted.length > 1 ? BEGUN : null;
        },
      },
      async ({ sessionId }, keyHash) => void interrupted.push([sessionId, keyHash]),
    );
    const leaving = new AbortController();
    const waiting = begin({ message: "waits" }, { signal: leaving.signal });
    waiting.catch(() => undefined);
    const key = { keyHash: "hash", bodyHash: "body", earlier: null };
    expect(await begin({ message: "interrupts", key }, { onBusy: "interrupt" })).toEqual(BEGUN);
    expect(interrupted).toEqual([
      ["holiday", "hash"],
      ["holiday", "hash"],
    ]);
    leaving.abort(new AppError("turn_cancelled", "stopped"));
    await expect(waiting).rejects.toMatchObject({ code: "turn_cancelled" });
  });

  test("refuses a busy conversation with conversation_busy, names the session and says how to wait", async () => {
    const { begin, asked } = busyFor(100);
    const refused = await begin({}, { onBusy: "refuse" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "conversation_busy", retryable: true });
    expect((refused as AppError).message).toMatch(/"holiday".*"on_busy": "enqueue".*"interrupt"/);
    expect(asked).toHaveLength(1);
  });

  test("lets no conversation wait for another, even when user and session read alike together", async () => {
    const begin = beginningOver({ begin: async ({ userId }) => (userId === "busy" ? null : BEGUN) });
    const leaving = new AbortController();
    const waiting = begin({ userId: "busy", sessionId: "s" }, { signal: leaving.signal });
    waiting.catch(() => undefined);
    expect(await begin({ userId: "b", sessionId: "usys" })).toEqual(BEGUN);
    leaving.abort(new AppError("turn_cancelled", "stopped"));
    await expect(waiting).rejects.toMatchObject({ code: "turn_cancelled" });
  });

  test("gives up its place with the signal's reason when it is cancelled, and the next turn gets in", async () => {
    const { begin, asked } = busyFor(2);
    const reason = new AppError("turn_cancelled", "stopped");
    const leaving = new AbortController();
    const first = begin({ message: "first" }, { signal: leaving.signal });
    const second = begin({ message: "second" });
    leaving.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(await second).toEqual(BEGUN);
    expect(asked.at(-1)).toBe("second");
    await expect(begin({ message: "late" }, { signal: leaving.signal })).rejects.toBe(reason);
    expect(asked).not.toContain("late");
  });

  test.each(["refuse", "enqueue"] as const)("passes on a failure of the store with %s", async (onBusy) => {
    const failure = new AppError("storage_unavailable", "gone");
    await expect(beginningOver({ begin: () => Promise.reject(failure) })({}, { onBusy })).rejects.toBe(failure);
  });

  describe("when the reply of Postgres was lost", () => {
    const refusal = new ReplyLost(new Error("the connection ended"));
    const away = (): Promise<never> => Promise.reject(new AppError("storage_unavailable", "away"));
    const lost = (calls: Partial<TurnStore>) => beginningOver({ begin: () => Promise.reject(refusal), ...calls });

    test("goes on with the message that was stored", async () => {
      const answers = [away, () => Promise.resolve(BEGUN)];
      expect(await lost({ findBegun: () => (answers.shift() as () => Promise<BegunTurn>)() })()).toEqual(BEGUN);
    });

    test("refuses the turn at once when nothing was stored", () => expect(lost({ findBegun: async () => null })()).rejects.toBe(refusal));

    const key = { keyHash: "key", bodyHash: "body", earlier: null };
    test("refuses the turn when Postgres stays away, and later takes its message back, or ends a turn with a key as failed, so that the key leads to another attempt", async () => {
      const refuse = async (key: BeginTurn["key"] | undefined): Promise<void> => {
        let isBack = false;
        const undone = Promise.withResolvers<HeldTurn | OutcomeToStore | undefined>();
        const begin = lost({
          findBegun: () => (isBack ? Promise.resolve(BEGUN) : away()),
          ...(key
            ? { finish: async (_held, _answer, _jobs, outcome) => (undone.resolve(outcome), "stored" as const) }
            : { takeBack: async (held) => undone.resolve(held) }),
        });
        const turn = sampleTurn({ key });
        await expect(begin(turn)).rejects.toBe(refusal);
        isBack = true;
        const { tenantId, userId, turnId } = turn;
        const failed = { outcome: { error: { code: "storage_unavailable", retryable: true } } };
        expect(await undone.promise).toMatchObject(key ? failed : { tenantId, userId, turnId, conversationId: BEGUN.conversationId });
      };
      await Promise.all([refuse(undefined), refuse(key)]);
    });
  });
});

describe("a keyed queue", () => {
  test("goes on after a task that failed, and passes the failure to its own caller only", async () => {
    const queue = makeKeyedQueue();
    const failure = new Error("changed my mind");
    const failing = queue.run("key", () => Promise.reject(failure));
    const next = queue.run("key", async () => "through");
    await expect(failing).rejects.toBe(failure);
    expect(await next).toBe("through");
    expect(await queue.run("key", async () => "later")).toBe("later");
  });

  test("lets a task that gives up go at once, and keeps the tasks behind it in order", async () => {
    const queue = makeKeyedQueue();
    const held = Promise.withResolvers<void>();
    const happened: string[] = [];
    const holder = queue.run("key", () => held.promise).then(() => happened.push("holder"));
    const giving = new AbortController();
    const quitter = queue.run("key", async () => happened.push("quitter"), giving.signal);
    const patient = queue.run("key", async () => happened.push("patient"));
    const reason = new Error("no more patience");
    giving.abort(reason);
    await expect(quitter).rejects.toBe(reason);
    await nextTick();
    expect(happened).toEqual([]);
    held.resolve();
    await Promise.all([holder, patient]);
    expect(happened).toEqual(["holder", "patient"]);
  });
});
