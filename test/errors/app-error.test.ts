import { describe, expect, test } from "@jest/globals";
import { AppError, type ErrorContent, toAppError } from "../../errors/app-error.ts";
import { ERROR_CODES, type ErrorCode } from "../../errors/error-codes.ts";
import { TurnError } from "../../turn/state.ts";

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

describe("an AppError", () => {
  test.each(CODES)("of code %s is retryable as the list of codes says", (code) => {
    const { retryable } = ERROR_CODES[code];
    expect(new AppError(code, "what failed").toContent()).toEqual({ code, message: "what failed", retryable });
  });

  test("is not retryable when the code that throws it knows so", () => {
    expect(new AppError("turn_superseded", "what failed", { retryable: false }).toContent().retryable).toBe(false);
  });

  test.each([17, 0, undefined])(
    "keeps, when it is a turn's error, that %p seconds are left until a retry may succeed",
    (retryAfterSeconds) => {
      const content = new AppError("model_unavailable", "what failed", { retryAfterSeconds }).toContent();
      expect(Object.entries(content).filter(([name]) => name === "retry_after_seconds")).toEqual(
        retryAfterSeconds === undefined ? [] : [["retry_after_seconds", retryAfterSeconds]],
      );
      expect(TurnError.parse(content)).toEqual(content);
      const thrown = AppError.fromContent(JSON.parse(JSON.stringify(content)) as ErrorContent);
      expect(thrown).toMatchObject({ code: "model_unavailable", message: "what failed", retryable: true, retryAfterSeconds });
    },
  );

  test("shows a client neither its cause nor its stack", () => {
    const error = new AppError("storage_unavailable", "what failed", { cause: new Error("password=secret") });
    expect(JSON.stringify(error.toContent())).not.toMatch(/secret|stack|cause/);
    expect(error.cause).toBeInstanceOf(Error);
  });

  test("for bad input names every field in its message and in its details", () => {
    const problems = [
      { field: "user_id", problem: "is missing" },
      { field: "limit", problem: '"ten" is no number' },
    ];
    const error = AppError.invalid(problems);
    expect(error).toMatchObject({ code: "invalid_request", message: 'user_id: is missing; limit: "ten" is no number', details: problems });
  });
});

describe("toAppError", () => {
  test("gives an AppError back as it is", () => {
    const error = new AppError("not_found", "nothing there");
    expect(toAppError(error)).toBe(error);
  });

  test.each([new Error("secret words"), "secret words", undefined, null, { message: "secret words" }])(
    "makes %p an internal_error that keeps it as its cause only",
    (thrown) => {
      const error = toAppError(thrown);
      expect(error).toMatchObject({ code: "internal_error", retryable: false });
      expect(error.message).not.toContain("secret");
      expect(error.cause).toBe(thrown);
    },
  );
});

test("every error code is in snake case, and says whether a retry may help", () => {
  for (const code of CODES) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  expect(CODES.filter((code) => ERROR_CODES[code].retryable)).toEqual([
    ...["conversation_busy", "identity_unavailable", "rate_limited", "too_many_turns", "token_quota_exceeded", "cost_quota_exceeded"],
    ...["model_unavailable", "model_rate_limited", "model_first_token_timeout", "model_stalled", "model_interrupted"],
    ...[
      "model_incomplete",
      "model_bad_response",
      "model_malformed",
      "index_unavailable",
      "embedder_unavailable",
      "webhook_unavailable",
      "storage_unavailable",
    ],
    ...["question_unanswered", "turn_cancelled", "turn_superseded", "turn_interrupted", "overloaded", "shutting_down"],
  ]);
});
