import { expect, test } from "@jest/globals";
import { type GatheredRead, readGathered } from "../../../../stores/postgres/database/gathered-reads.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { recordStatements } from "../../../support/databases/record-statements.ts";
import { useOpened } from "../../../support/use-opened.ts";

const double = (value: number, name = "double"): GatheredRead<number> => ({
  name,
  json: (place) => `to_json(${place(1)}::int * ${place(2)}::int)`,
  values: [value, 2],
  toResult: (json) => json as number,
});
const broken: GatheredRead<number> = {
  ...double(0),
  name: "broken",
  json: (place) => `to_json(${place(1)}::int / (${place(2)}::int - 2))`,
};

describeOnBothDatabases("reads that are gathered", (open) => {
  const opened = useOpened(open);
  const recorded = () => recordStatements(opened);

  test("share one statement when they are asked for in one round of the event loop, whatever their order", async () => {
    const { database, statements } = recorded();
    const ask = (...names: string[]) => Promise.all(names.map((name, position) => readGathered(database, double(position + 1, name))));
    expect(await ask("one", "two", "three")).toEqual([2, 4, 6]);
    expect(await ask("three", "one", "two")).toEqual([2, 4, 6]);
    expect(statements.map(({ name }) => name)).toEqual(["one+three+two", "one+three+two"]);
    expect(new Set(statements.map(({ text }) => text)).size).toBe(1);
  });

  test("have a name of their own however many they are, of the 63 characters that Postgres reads", async () => {
    const { database, statements } = recorded();
    const names = (end: string): string[] => ["a", "b", "c", end].map((letter) => letter.repeat(20));
    for (const end of ["d", "e"]) await Promise.all(names(end).map((name) => readGathered(database, double(1, name))));
    const given = statements.map(({ name }) => name ?? "");
    expect(new Set(given).size).toBe(2);
    for (const name of given) expect(name.length).toBeLessThanOrEqual(63);
  });

  test("of the same name are each answered, and so is one in a later round", async () => {
    const { database, statements } = recorded();
    expect(await Promise.all([1, 2, 3].map((value) => readGathered(database, double(value))))).toEqual([2, 4, 6]);
    expect(await readGathered(database, double(4))).toBe(8);
    expect(statements.map(({ name }) => name)).toEqual(["double", "double", "double", "double"]);
  });

  test("are answered one by one when one of them fails, which alone is told", async () => {
    const { database } = recorded();
    const reads = [readGathered(database, double(1)), readGathered(database, broken)];
    expect(await Promise.allSettled(reads)).toEqual([
      { status: "fulfilled", value: 2 },
      { status: "rejected", reason: expect.objectContaining({ message: expect.stringContaining("division by zero") }) },
    ]);
  });
});
