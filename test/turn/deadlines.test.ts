import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../errors/app-error.ts";
import { startAnswerDeadlines, startDeadline } from "../../turn/deadlines.ts";

const TIMEOUTS = { firstTokenMs: 1_000, idleMs: 500 };

describe("the deadlines of an answer", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("end it when no token came in time, and name the setting", () => {
    const { signal } = startAnswerDeadlines(TIMEOUTS, undefined);
    jest.advanceTimersByTime(999);
    expect(signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(signal.reason).toMatchObject({ code: "model_first_token_timeout", retryable: true });
    expect((signal.reason as AppError).message).toContain("MODEL_FIRST_TOKEN_TIMEOUT_MS");
  });

  test("let it take as long as it likes while tokens come, end it when they stop, and name the setting", () => {
    const { signal, tokenCame } = startAnswerDeadlines(TIMEOUTS, undefined);
    for (let count = 0; count < 100; count++) {
      tokenCame();
      jest.advanceTimersByTime(499);
    }
    expect(signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(signal.reason).toMatchObject({ code: "model_stalled", retryable: true });
    expect((signal.reason as AppError).message).toContain("MODEL_IDLE_TIMEOUT_MS");
  });

  test.each([0, 1, 2])("leave no timer behind once cleared, after %i tokens", (tokens) => {
    const deadlines = startAnswerDeadlines(TIMEOUTS, new AbortController().signal);
    for (let count = 0; count < tokens; count++) deadlines.tokenCame();
    deadlines.clear();
    expect(jest.getTimerCount()).toBe(0);
    expect(deadlines.signal.aborted).toBe(false);
  });

  test("end it with the reason of the caller when the caller cancels, before or meanwhile", () => {
    const reason = new AppError("turn_cancelled", "stopped");
    const cancellation = new AbortController();
    const meanwhile = startAnswerDeadlines(TIMEOUTS, cancellation.signal);
    cancellation.abort(reason);
    expect(meanwhile.signal.reason).toBe(reason);
    expect(startAnswerDeadlines(TIMEOUTS, cancellation.signal).signal.reason).toBe(reason);
  });
});

describe("a deadline", () => {
  test("aborts when its time is over, as AbortSignal.timeout does, unless it was disposed of before", async () => {
    const [ours, disposed, nodes] = [startDeadline(5), startDeadline(5), AbortSignal.timeout(5)];
    disposed[Symbol.dispose]();
    expect(ours.isOver()).toBe(false);
    await sleep(30);
    expect(ours.isOver()).toBe(true);
    const [one, other] = [ours.signal.reason as DOMException, nodes.reason as DOMException];
    expect([one.name, one.message, one.code]).toEqual([other.name, other.message, other.code]);
    expect([disposed.signal.aborted, disposed.isOver()]).toEqual([false, false]);
  });

  test("also aborts when somebody cancels, which is not its time", () => {
    const cancelling = new AbortController();
    using deadline = startDeadline(60_000, cancelling.signal);
    cancelling.abort(new Error("stopped"));
    expect(deadline.signal.reason).toEqual(new Error("stopped"));
    expect(deadline.isOver()).toBe(false);
  });
});
