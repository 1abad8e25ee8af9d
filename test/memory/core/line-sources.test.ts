import { describe, expect, test } from "@jest/globals";
import { diffLines, type DraftLine, makePassOnSources, toDraftLine } from "../../../memory/core/line-sources.ts";

const draft = (content: string, ...triggerMessageIds: string[]): DraftLine => toDraftLine({ content, triggerMessageIds, repeatedIn: [] });

/** What the lines of the new content rest on beyond their own turns. */
function follow(before: DraftLine[], content: string[], elsewhere: DraftLine[] = []): Record<string, string[]> {
  const diff = diffLines(before, content.join("\n"));
  makePassOnSources([...before, ...elsewhere])(diff);
  return Object.fromEntries(diff.after.map((line) => [line.content, [...line.sources].sort()]));
}

describe("the sources of lines that are rewritten", () => {
  const porto = () => draft("Lives in Porto.", "porto");
  const rex = () => draft("Has a dog called Rex.", "rex");
  const tea = () => draft("Likes tea.", "tea");

  test("a line that says most of what a removed line said rests on what that rested on; a line beside it does not", () => {
    expect(follow([porto(), tea()], ["Lives in Porto, Portugal.", "Likes tea.", "Has a dog called Rex."])).toEqual({
      "Lives in Porto, Portugal.": ["porto"],
      "Likes tea.": ["tea"],
      "Has a dog called Rex.": [],
    });
  });

  test("a line in the place of a removed line rests on what that rested on, in whatever words and language", () => {
    expect(follow([tea(), porto(), rex()], ["Likes tea.", "住在波尔图", "Has a dog called Rex.", "Sails."])).toEqual({
      "Likes tea.": ["tea"],
      住在波尔图: ["porto"],
      "Has a dog called Rex.": ["rex"],
      "Sails.": [],
    });
  });

  test("a line that two were merged into rests on what both rested on", () => {
    expect(follow([porto(), rex()], ["住在波尔图，有一只狗"])).toEqual({ "住在波尔图，有一只狗": ["porto", "rex"] });
    expect(follow([porto(), tea(), rex()], ["Likes tea.", "Lives in Porto with a dog called Rex."])).toEqual({
      "Likes tea.": ["tea"],
      "Lives in Porto with a dog called Rex.": ["porto", "rex"],
    });
  });

  test("each half of a line that was split rests on what it rested on", () => {
    expect(follow([draft("Lives in Porto and hates dill.", "both")], ["Lives in Porto.", "Hates dill."])).toEqual({
      "Lives in Porto.": ["both"],
      "Hates dill.": ["both"],
    });
  });

  test("a line of another section that is written here too rests here on the same", () => {
    expect(follow([], ["Lives in Porto."], [porto()])).toEqual({ "Lives in Porto.": ["porto"] });
  });

  test("what was left out and cannot be found again may be in any line that is new", () => {
    expect(follow([porto(), tea(), rex()], ["Likes tea.", "Has a dog called Rex.", "波尔图"])).toMatchObject({ 波尔图: ["porto"] });
  });

  test("a line left out by one call is followed into the line that a later call adds to another section", () => {
    const before = [porto()];
    const passOnSources = makePassOnSources(before);
    passOnSources(diffLines(before, ""));
    const later = diffLines([], "住在波尔图");
    passOnSources(later);
    expect([...(later.added[0]?.sources ?? [])]).toEqual(["porto"]);
  });

  test("a line that is left out is followed into the line that an earlier call added to another section", () => {
    const [before, earlier] = [[porto()], diffLines([], "住在波尔图")];
    const passOnSources = makePassOnSources(before);
    passOnSources(earlier);
    passOnSources(diffLines(before, ""));
    expect([...(earlier.added[0]?.sources ?? [])]).toEqual(["porto"]);
  });
});
