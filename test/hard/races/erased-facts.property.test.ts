import { describe, test } from "@jest/globals";
import fc from "fast-check";
import { useTestEmbedded } from "../../support/databases/databases.ts";
import { FactWorld, type Step } from "./fact-world.ts";

const number = fc.nat(7);
const fact = fc.nat(9);
const turn = fc.record({ facts: fc.uniqueArray(fact, { minLength: 1, maxLength: 2 }), session: fc.nat(1) });
const language = fc.nat(2);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("teach" as const),
      turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
      section: fc.nat(2),
      names: fc.constantFrom("each" as const, "flat" as const, "none" as const),
      language,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reword" as const), line: number, fact, language }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("merge" as const), lines: fc.tuple(number, number), language }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("move" as const), line: number, section: fc.nat(2), language, addsFirst: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("forget" as const), line: number }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("edit" as const), line: number, fact }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("erase" as const), turn: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("erase conversation" as const), session: fc.nat(1) }) },
);

const move = (section: number): Step => ({ do: "move", line: 0, section, language: section, addsFirst: false });
const FOUND: [Step[]][] = [
  [
    [
      { do: "teach", turns: [8, 4].map((one) => ({ facts: [one], session: 1 })), section: 0, names: "flat", language: 2 },
      { do: "reword", line: 1, fact: 3, language: 1 },
      { do: "merge", lines: [1, 0], language: 0 },
      { do: "erase", turn: 2 },
    ],
  ],
  [
    [
      { do: "edit", line: 0, fact: 0 },
      { do: "reword", line: 0, fact: 3, language: 0 },
      { do: "teach", turns: [{ facts: [3], session: 0 }], section: 0, names: "each", language: 0 },
      move(1),
      { do: "erase", turn: 0 },
    ],
  ],
  [[{ do: "edit", line: 0, fact: 0 }, move(2), move(0), move(2), { do: "erase", turn: 1 }]],
];

describe("a user whose facts are taught, put into other words and languages, merged, moved and erased in any order", () => {
  const database = useTestEmbedded();

  test("keeps, after each erase, nothing that only erased messages said, and loses nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        const world = new FactWorld(database);
        for (const one of steps) await world.take(one);
      }),
      { numRuns: Number(process.env["FACT_RUNS"] ?? 40), endOnFailure: process.env["FACT_SHRINK"] === undefined, examples: FOUND },
    );
  });
});
