import { beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import type { Owner } from "../../../turn/owner.ts";
import type { EarlierAttempt, TurnKey } from "../../../turn/context.ts";
import type { OutcomeToStore } from "../../../stores/postgres/turns/recover-turn.ts";
import { describeStores } from "../../support/databases/describe-stores.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { beginFreely, completeTurn, EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import type { BeginTurn, BegunTurn } from "../../../stores/postgres/turns/recover-turn.ts";

type Begun = BegunTurn & BeginTurn;

describeStores("a message that was answered at the third attempt, with a key", ({ database, turns, erases }) => {
  let owner: Owner;
  let key: TurnKey;
  let word: string;
  beforeEach(() => {
    owner = { tenantId: "tenant", userId: `user ${uuidv7()}` };
    key = { keyHash: `key ${uuidv7()}`, bodyHash: `body ${uuidv7()}`, earlier: null };
    word = `word${uuidv7().replaceAll("-", "")}`;
  });

  const outcome = (completed: boolean): OutcomeToStore => ({
    outcome: { completed, error: completed ? null : { code: "model_incomplete", retryable: true }, route_decision: { reason: word } },
    ifSuperseded: {},
  });
  const answerTo = ({ messageId, turnId }: Begun, completed: boolean) =>
    sampleAnswer({ userMessageId: messageId, content: `answer ${word}`, completed, metadata: { turn_id: turnId } });
  const again = (turn: BeginTurn, earlier: EarlierAttempt, leaseMs = 60_000): Promise<Begun> =>
    beginFreely(turns, { ...turn, turnId: uuidv7(), leaseMs, key: { ...key, earlier } });

  /** One failed after half of its answer, the next one's process died, the last one was whole. */
  async function threeAttempts(): Promise<[Begun, Begun, Begun]> {
    const first = await beginFreely(turns, sampleTurn({ ...owner, message: `question ${word}`, key }));
    await turns.finish(first, answerTo(first, false), [], outcome(false));
    const died = await again(first, { turnId: first.turnId, hadOutcome: true, isOverHere: false }, EXPIRED_LEASE_MS);
    const last = await again(first, { turnId: died.turnId, hadOutcome: false, isOverHere: false });
    await turns.finish(last, answerTo(last, true), [], outcome(true));
    return [first, died, last];
  }

  const traces = (attempts: Begun[]): string[] => [word, key.keyHash, key.bodyHash, ...attempts.map(({ turnId }) => turnId)];
  async function holders(of: string[]): Promise<string[]> {
    const found = await Promise.all(of.map((trace) => tablesHolding(database, trace)));
    return [...new Set(found.flatMap((tables) => Object.keys(tables)))].sort();
  }
  const leftovers = async (): Promise<Record<string, number>> =>
    Object.fromEntries((await findResidualData(database, null, owner)).map(({ place, count }) => [place, count]));

  test("is found by an audit with all of its attempts", async () => {
    const attempts = await threeAttempts();
    expect(await leftovers()).toEqual({ "public.conversations": 1, "public.messages": 3, "public.turns": 3 });
    expect(await holders(traces(attempts))).toEqual(["public.messages", "public.turns"]);
  });

  test.each<[string, (last: Begun) => Promise<unknown>, string[]]>([
    ["user", () => erases.user(owner), []],
    ["conversation", (last) => erases.conversation(last), []],
    ["exchange", (last) => erases.episode(owner, last.messageId), ["public.conversations"]],
  ])("leaves nothing when its %s is erased, and the attempt thought dead brings nothing back", async (_what, erase, stays) => {
    const attempts = await threeAttempts();
    const [, died, last] = attempts;
    expect(await erase(last)).not.toBeNull();
    expect(await holders(traces(attempts))).toEqual([]);
    expect(Object.keys(await leftovers())).toEqual(stays);
    expect(await turns.renew(died, 1_000)).toBe(false);
    expect(await turns.finish(died, answerTo(died, true), [], outcome(true))).toBe("gone");
    expect(await turns.finish(died, null, [], outcome(false))).not.toBe("stored");
    expect(await holders(traces(attempts))).toEqual([]);
    expect(Object.keys(await leftovers())).toEqual(stays);
  });

  test("leaves what else was said when its exchange is erased", async () => {
    const before = await completeTurn(turns, sampleTurn(owner));
    const [, , last] = await threeAttempts();
    const beside = await completeTurn(turns, sampleTurn({ ...owner, sessionId: last.sessionId }));
    await erases.episode(owner, last.messageId);
    expect(await leftovers()).toEqual({ "public.conversations": 2, "public.messages": 4, "public.turns": 2 });
    expect((await holders([before.turnId, beside.turnId])).includes("public.turns")).toBe(true);
  });

  test("frees its key when it is erased", async () => {
    const [first, , last] = await threeAttempts();
    await erases.episode(owner, last.messageId);
    const retry = { ...first, turnId: uuidv7(), key: { ...key, earlier: { turnId: last.turnId, hadOutcome: true, isOverHere: false } } };
    await expect(turns.begin(retry)).rejects.toMatchObject({ name: "AppError", code: "conversation_busy" });
    expect(await turns.begin({ ...first, turnId: uuidv7(), key })).not.toBeNull();
  });
});
