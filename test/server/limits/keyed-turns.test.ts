import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { contentOf, postTurn, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

let running: ServiceWithModel;
afterEach(() => running.close());

const ask = (sessionId: string, key?: string): Promise<EventStreamResponse> => {
  const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
  return postTurn(running.url, { user_id: "ada", session_id: sessionId, message: "hello" }, { headers });
};
const codeOf = ({ status, json }: EventStreamResponse) => [status, json?.error.code];

describe("the one turn at once of a user", () => {
  let release: () => void;
  let released: Promise<void>;
  beforeEach(async () => {
    running = await openServiceWithModel({ MAX_CONCURRENT_TURNS_PER_USER: "1" });
    ({ promise: released, resolve: release } = Promise.withResolvers<void>());
  });
  const asked = (count: number) => waitUntil(`${count} turns at the model`, () => running.model.seen.length === count);
  const TOO_MANY = [429, "too_many_turns"];

  test("is also told to whoever sends its key, while a message of its own is refused", async () => {
    running.model.answer({ tokens: ["yes"], until: released });
    const first = ask("one", "key");
    await asked(1);
    const attached = [ask("one", "key"), ask("one", "key")];
    expect(codeOf(await ask("two", "another-key"))).toEqual(TOO_MANY);
    release();
    const ids = (await Promise.all([first, ...attached])).map(({ events }) => contentOf(events, "done").message_id);
    expect(new Set(ids).size).toBe(1);
    // No slot was kept, nor given back twice.
    ({ promise: released, resolve: release } = Promise.withResolvers<void>());
    running.model.answer({ tokens: ["yes"], until: released });
    const next = ask("two");
    await asked(2);
    expect(codeOf(await ask("three"))).toEqual(TOO_MANY);
    expect(contentOf((await ask("one", "key")).events, "done").message_id).toBe(ids[0]);
    release();
    expect((await next).status).toBe(200);
  });

  test("is taken by another attempt at a message that failed", async () => {
    running.model.answer({ tokens: ["half "], ending: "cut" });
    expect(contentOf((await ask("one", "key")).events, "error").retryable).toBe(true);
    running.model.answer({ tokens: ["yes"], until: released });
    const other = ask("two");
    await asked(2);
    expect(codeOf(await ask("one", "key"))).toEqual(TOO_MANY);
    release();
    await other;
    ({ promise: released, resolve: release } = Promise.withResolvers<void>());
    running.model.answer({ tokens: ["whole"], until: released });
    const retry = ask("one", "key");
    await asked(3);
    expect(codeOf(await ask("three"))).toEqual(TOO_MANY);
    release();
    expect(contentOf((await retry).events, "done").answer).toBe("whole");
  });
});

describe("the tokens of a day", () => {
  /** What the model server counts for an answer of one token. */
  const ONE_TURN = 101;
  const USED_UP = [429, "token_quota_exceeded"];

  test("are used once by a turn, however often its key is sent, and its answer is told when they are used up", async () => {
    running = await openServiceWithModel({ TOKENS_PER_DAY: String(2 * ONE_TURN) });
    running.model.answer({ tokens: ["yes"] });
    const told = contentOf((await ask("one", "key")).events, "done");
    expect(told.usage.total_tokens).toBe(ONE_TURN);
    for (let again = 0; again < 3; again++) expect(contentOf((await ask("one", "key")).events, "done")).toEqual(told);
    expect((await ask("two")).status).toBe(200);
    expect(codeOf(await ask("three"))).toEqual(USED_UP);
    expect(contentOf((await ask("one", "key")).events, "done")).toEqual(told);
  });

  test("are used by each attempt at a message, and refuse another one when there are none", async () => {
    running = await openServiceWithModel({ TOKENS_PER_DAY: String(ONE_TURN) });
    running.model.answer({ status: 500 });
    await ask("failed", "of-the-failed");
    await ask("failed too", "of-the-other");
    running.model.answer({ tokens: ["yes"] });
    expect(contentOf((await ask("failed", "of-the-failed")).events, "done").answer).toBe("yes");
    expect(codeOf(await ask("failed too", "of-the-other"))).toEqual(USED_UP);
    expect(contentOf((await ask("failed", "of-the-failed")).events, "done").answer).toBe("yes");
  });
});
