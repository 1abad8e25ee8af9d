import { tool } from "@langchain/core/tools";
import { expect, test } from "@jest/globals";
import { z } from "zod";
import { findWrongArguments } from "../../agents/run-tool-call.ts";

const ofZod = z.strictObject({ item: z.string(), places: z.array(z.object({ row: z.number() })).default([]) });
const ofJson = {
  type: "object",
  properties: { item: { type: "string" }, places: { type: "array", items: { type: "object", properties: { row: { type: "number" } } } } },
  required: ["item"],
  additionalProperties: false,
};
const both = [ofZod, ofJson].map((schema) => tool(() => "", { name: "order", schema: schema as typeof ofZod }));

test.each<[what: string, given: object, zod: string, json: RegExp]>([
  ["a value of another type", { item: 7 }, "item: Invalid input: expected string, received number", /^item: .*Expected "string"$/],
  [
    "one within a list",
    { item: "tea", places: [{ row: 1 }, { row: "two" }] },
    "places.1.row: Invalid input: expected number, received string",
    /^places\.1\.row: .*Expected "number"$/,
  ],
  ["a missing field", {}, "item: Invalid input: expected string, received undefined", /"item"/],
  ["an unknown field", { item: "tea", secret: 1 }, 'the arguments: Unrecognized key: "secret"', /^secret: /],
])("%s is named by its field, for schemas of both kinds", async (_what, given, zod, json) => {
  expect(await Promise.all(both.map((one) => findWrongArguments(one, given)))).toEqual([zod, expect.stringMatching(json)]);
});

test("what fits has no problem", async () => {
  for (const one of both) expect(await findWrongArguments(one, { item: "tea", places: [{ row: 1 }] })).toBeNull();
});

test("only the first of very many problems are told", async () => {
  const places = Array.from({ length: 20_000 }, () => ({ row: "x" }));
  for (const one of both) expect((await findWrongArguments(one, { item: "tea", places }))?.length).toBeLessThan(2_000);
});

test("a check of a stranger's unique items that would take for ever is given up", async () => {
  const schema = { type: "object", properties: { items: { type: "array", uniqueItems: true } } };
  const items = Array.from({ length: 50_000 }, (_, index) => ({ index }));
  await expect(findWrongArguments({ schema: schema as never }, { items })).rejects.toThrow("timed out");
});

test("a check by a stranger's schema that would take for ever is given up", async () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/$defs/level${level + 1}` };
      return [`level${level}`, { anyOf: [next, next] }];
    }),
  );
  const schema = { type: "object", properties: { item: { $ref: "#/$defs/level0" } }, $defs: { ...$defs, level40: { type: "number" } } };
  await expect(findWrongArguments({ schema: schema as never }, { item: 1 })).rejects.toThrow("timed out");
});
