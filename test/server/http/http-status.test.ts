import { describe, expect, test } from "@jest/globals";
import { ERROR_CODES, type ErrorCode } from "../../../errors/error-codes.ts";
import { HTTP_STATUS } from "../../../server/http/http-status.ts";

describe("the HTTP status", () => {
  test("is given for every error code and for nothing else", () => {
    expect(Object.keys(HTTP_STATUS).sort()).toEqual(Object.keys(ERROR_CODES).sort());
  });

  test.each<[ErrorCode, number]>([
    ["invalid_request", 400],
    ["unauthorized", 401],
    ["forbidden", 403],
    ["not_found", 404],
    ["conversation_busy", 409],
    ["turn_gone", 410],
    ["idempotency_mismatch", 422],
    ["rate_limited", 429],
    ["message_too_long", 413],
    ["body_too_large", 413],
    ["unsupported_media_type", 415],
    ["storage_unavailable", 503],
    ["identity_unavailable", 503],
    ["model_unavailable", 503],
    ["shutting_down", 503],
  ])("of %s is %p, as clients were told", (code, status) => {
    expect(HTTP_STATUS[code]).toBe(status);
  });

  test("says 503 of every model error, 5xx of nothing that the caller can mend", () => {
    for (const [code, status] of Object.entries(HTTP_STATUS)) {
      if (code.startsWith("model_")) expect(status).toBe(503);
      expect([400, 401, 403, 404, 409, 410, 413, 415, 421, 422, 429, 500, 503]).toContain(status);
    }
  });
});
