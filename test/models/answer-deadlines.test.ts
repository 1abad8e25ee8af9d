import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { startAnswerDeadlines } from "../../models/deadlines.ts";

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

  test("end it when the tokens stop coming, and name the setting", () => {
    const deadlines = startAnswerDeadlines(TIMEOUTS, undefined);
    deadlines.tokenCame();
    jest.advanceTimersByTime(499);
    deadlines.tokenCame();
    jest.advanceTimersByTime(499);
    expect(deadlines.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(deadlines.signal.reason).toMatchObject({ code: "model_stalled", retryable: true });
    expect((deadlines.signal.reason as AppError).message).toContain("MODEL_IDLE_TIMEOUT_MS");
  });

  test("let an answer take as long as it likes while tokens come", () => {
    const deadlines = startAnswerDeadlines(TIMEOUTS, undefined);
    for (let count = 0; count < 100; count++) {
      deadlines.tokenCame();
      jest.advanceTimersByTime(400);
    }
    expect(deadlines.signal.aborted).toBe(false);
  });

  test("leave no timer behind once cleared", () => {
    const cancellation = new AbortController();
    for (const tokens of [0, 1, 2]) {
      const deadlines = startAnswerDeadlines(TIMEOUTS, cancellation.signal);
      for (let count = 0; count < tokens; count++) deadlines.tokenCame();
      deadlines.clear();
      expect(jest.getTimerCount()).toBe(0);
      jest.advanceTimersByTime(10_000);
      expect(deadlines.signal.aborted).toBe(false);
    }
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
