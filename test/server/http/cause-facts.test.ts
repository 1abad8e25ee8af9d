import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { causeFacts, errorFacts } from "../../../server/observe/logger.ts";

describe("causeFacts", () => {
  test("names each cause with its code and status and leaves out every message", () => {
    const socket = Object.assign(new Error("connect refused while sending SECRET"), { code: "ECONNREFUSED" });
    const api = Object.assign(new TypeError("the server said SECRET", { cause: socket }), { status: 500 });
    const facts = causeFacts(new AppError("model_unavailable", "The chat model is away.", { cause: api }));
    expect(facts).toEqual([
      { name: "TypeError", status: 500 },
      { name: "Error", code: "ECONNREFUSED" },
    ]);
    expect(JSON.stringify(facts)).not.toContain("SECRET");
  });

  test("an error that should not have happened is told by where it was thrown, without its message", () => {
    const thrown = new Error("could not read SECRET\nof two lines");
    const facts = errorFacts(new AppError("internal_error", "Something failed.", { cause: thrown }));
    expect(facts).toMatchObject({ code: "internal_error", causes: [{ name: "Error" }] });
    expect(facts.at[0]).toContain("cause-facts.test.ts");
    expect(JSON.stringify(facts)).not.toContain("SECRET");
  });

  test("is empty without a cause and ends on a circle of causes", () => {
    const error = new Error("round");
    error.cause = error;
    expect(causeFacts(new Error("alone"))).toEqual([]);
    expect(causeFacts(error)).toHaveLength(10);
  });
});
