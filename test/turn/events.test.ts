import { expect, test } from "@jest/globals";
import { millisecondsSince } from "../../turn/events.ts";

test("a time of a turn is told in milliseconds since its beginning, to a hundredth", () => {
  expect(millisecondsSince(1_000.5, 1_012.126)).toBe(11.63);
});
