import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { HumanMessage } from "@langchain/core/messages";
import { toModelError as toError } from "../../models/model-error.ts";

const toModelError = (cause: unknown, streaming: boolean): AppError =>
  toError(cause, { purpose: "chat", streaming, prompt: [new HumanMessage("My aunt keeps bees. 我的姑姑养蜜蜂。")] });

const withStatus = (status: number): Error => Object.assign(new Error("secret words of the server"), { status });
const withCode = (code: string, cause?: unknown): Error => Object.assign(new Error("secret words of the system", { cause }), { code });

function ownCause(): Error {
  const error = new Error("round");
  error.cause = error;
  return error;
}

describe("toModelError", () => {
  test.each<[number, string, boolean]>([
    [429, "model_rate_limited", true],
    ...[408, 500, 502, 503, 504].map((status): [number, string, boolean] => [status, "model_unavailable", true]),
    [401, "model_unauthorized", false],
    [402, "model_quota", false],
    ...[400, 403, 404, 422].map((status): [number, string, boolean] => [status, "model_refused", false]),
  ])("makes status %p a %s", (status, code, retryable) => {
    expect(toModelError(withStatus(status), false)).toMatchObject({ code, retryable });
  });

  test.each([
    ["a refused connection", withCode("ECONNREFUSED")],
    ["a reset connection", withCode("ECONNRESET")],
    ["an unknown host", withCode("ENOTFOUND")],
    ["a name server that does not answer", withCode("EAI_AGAIN")],
    ["a timeout of undici", withCode("UND_ERR_CONNECT_TIMEOUT")],
    ["fetch's own words", new TypeError("fetch failed")],
    ["a body that ends early", new TypeError("terminated")],
    ["the SDK's connection error", Object.assign(new Error("Connection error."), { name: "APIConnectionError" })],
    ["a cause two levels down", new Error("outer", { cause: new Error("middle", { cause: withCode("EPIPE") }) })],
  ])("makes %s model_unavailable before the answer began and model_interrupted after", (_name, error) => {
    expect(toModelError(error, false).code).toBe("model_unavailable");
    expect(toModelError(error, true).code).toBe("model_interrupted");
  });

  test.each([
    ["an error of the parser", new SyntaxError("Unexpected token")],
    ["a mistake in code", new TypeError("cannot read properties of undefined")],
    ["a string", "what?"],
    ["an error that is its own cause", ownCause()],
    ["nothing", undefined],
  ])("makes %s model_bad_response", (_name, error) => {
    expect(toModelError(error, false).code).toBe("model_bad_response");
    expect(toModelError(error, true).code).toBe("model_bad_response");
  });

  test("names the settings of the model that was asked", () => {
    const says = (purpose: "chat" | "summary", error: unknown) => toError(error, { purpose, streaming: false, prompt: [] }).message;
    expect(says("chat", withStatus(401))).toContain("Check OPENAI_API_KEY.");
    expect(says("summary", withStatus(401))).toContain("Check OPENAI_API_KEY.");
    expect(says("summary", withCode("ECONNREFUSED"))).toContain("Check OPENAI_BASE_URL,");
    expect(says("summary", withStatus(404))).toContain("SUMMARY_MODEL");
  });

  test("hands an AppError on unchanged: the reason of an abort is one", () => {
    const reason = new AppError("turn_cancelled", "stopped");
    expect(toModelError(reason, true)).toBe(reason);
  });

  test("keeps the server's words in the cause, out of the message", () => {
    for (const error of [withStatus(401), withStatus(500), withStatus(429), withCode("ECONNREFUSED"), new Error("secret words")]) {
      const known = toModelError(error, false);
      expect(known.message).not.toContain("secret");
      expect(known.cause).toBe(error);
    }
  });
});
