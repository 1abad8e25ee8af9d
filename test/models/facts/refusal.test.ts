import { expect, test } from "@jest/globals";
import type { AppError } from "../../../errors/app-error.ts";
import { refusalOf } from "../../../models/facts/refusal.ts";
import { toModelError } from "../../../models/model-error.ts";
import { REFUSALS } from "../refusals.ts";

const errorOf = (body: { error: object }): AppError => {
  const cause = Object.assign(new Error("400"), { status: 400, error: body.error });
  return toModelError(cause, { purpose: "chat", streaming: false, prompt: [] });
};

test.each(REFUSALS)("a prompt that is too long in the words of %s", (_server, body, limit, prompt) => {
  const error = errorOf(body);
  expect(error.code).toBe("context_too_long");
  expect(refusalOf(error)).toEqual({ limit, prompt });
});

test("another error is no refusal of a length", () => {
  expect(refusalOf(null)).toBeNull();
  expect(refusalOf(errorOf({ error: { message: "Unsupported parameter: 4096", type: "invalid_request_error" } }))).toBeNull();
});
