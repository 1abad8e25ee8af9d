import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { causeFacts, errorFacts, requestIdOf } from "../../observe/logger.ts";

describe("the facts of an error in the log", () => {
  test("name each cause with its code and status and leave out every message", () => {
    const socket = Object.assign(new Error("connect refused while sending SECRET"), { code: "ECONNREFUSED" });
    const api = Object.assign(new TypeError("the server said SECRET", { cause: socket }), { status: 500 });
    const facts = causeFacts(new AppError("model_unavailable", "The chat model is unreachable.", { cause: api }));
    expect(facts).toEqual([
      { name: "TypeError", status: 500 },
      { name: "Error", code: "ECONNREFUSED" },
    ]);
  });

  test("show where an unexpected error was thrown, without its message", () => {
    const thrown = new Error("could not read SECRET\nof two lines");
    const facts = errorFacts(new AppError("internal_error", "Something failed.", { cause: thrown }));
    expect(facts).toMatchObject({ code: "internal_error", causes: [{ name: "Error" }] });
    expect(facts.at[0]).toContain("logger.test.ts");
    expect(JSON.stringify(facts)).not.toContain("SECRET");
  });

  test("are empty without a cause, and end when causes form a circle", () => {
    const error = new Error("round");
    error.cause = error;
    expect(causeFacts(new Error("alone"))).toEqual([]);
    expect(causeFacts(error)).toHaveLength(10);
  });
});

describe("the id of a request", () => {
  test.each(["a", "7f.b-2_Z", "x".repeat(100)])("is the client's when it is %j", (id) => expect(requestIdOf(id)).toBe(id));

  test.each([undefined, "", "x".repeat(101), "a b", "a\u00e9", 'a"', "a,b", "a/../b"])("is a new one when the client's is %j", (id) => {
    expect(requestIdOf(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  });
});
