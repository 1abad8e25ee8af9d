import { describe, expect, test } from "@jest/globals";
import { factsInClause } from "../../../../memory/agent/offline/facts-in-clause.ts";
import { plainWording } from "../../../../memory/agent/offline/plain-wording.ts";
import { readLine } from "../../../../memory/agent/offline/read-line.ts";
import { splitClauses } from "../../../../memory/agent/offline/split-clauses.ts";
import { SENTENCES } from "./sentences.ts";

describe("readLine", () => {
  const facts = SENTENCES.flatMap(({ message }) => splitClauses(plainWording(message)))
    .flatMap((clause) => factsInClause(clause, false))
    .filter(({ polarity }) => polarity !== "over");

  test.each(facts.map((fact) => [fact.text, fact] as const))(
    "reads %j as what it was written for",
    (text, { slot, polarity, about, key }) => {
      const read = readLine(text).find((one) => one.slot === slot);
      expect({ ...read, items: read?.items.map((item) => item.key) }).toMatchObject({ polarity, about, items: [key] });
    },
  );

  test.each([
    ["User is based in Rome, Italy", "home", ["rome"]],
    ["Location: Rome", "home", ["rome"]],
    ["The user's name is Ada", "name", ["ada"]],
    ["Enjoys jazz, blues and long walks.", "taste", ["jazz", "blue", "long walk"]],
    ["用户住在上海", "home", ["上海"]],
    ["爱好：爬山、画画", "taste", ["爬山", "画画"]],
    ["Is a vegetarian", "diet", ["vegetarian"]],
    ["花生过敏", "allergy", ["花生"]],
  ])("%j", (line, slot, keys) =>
    expect(
      readLine(line)
        .find((read) => read.slot === slot)
        ?.items.map(({ key }) => key),
    ).toEqual(keys),
  );

  test.each(["", "Ada, née King, wrote a program", "Met Tom in Rome once", "周末总是看纪录片"])("%j is free text", (line) =>
    expect(readLine(line)).toEqual([]),
  );
});
