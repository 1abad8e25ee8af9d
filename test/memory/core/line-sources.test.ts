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

  test("pass from a removed line to a line that says most of it, and not to a line beside it", () => {
    expect(follow([porto(), tea()], ["Lives in Porto, Portugal.", "Likes tea.", "Has a dog called Rex."])).toEqual({
      "Lives in Porto, Portugal.": ["porto"],
      "Likes tea.": ["tea"],
      "Has a dog called Rex.": [],
    });
  });

  test("pass to the line in the place of a removed one, in whatever words and language", () => {
    expect(follow([tea(), porto(), rex()], ["Likes tea.", "住在波尔图", "Has a dog called Rex.", "Sails."])).toEqual({
      "Likes tea.": ["tea"],
      住在波尔图: ["porto"],
      "Has a dog called Rex.": ["rex"],
      "Sails.": [],
    });
  });

  test("pass from two lines to the line that merges them", () => {
    expect(follow([porto(), rex()], ["住在波尔图，有一只狗"])).toEqual({ "住在波尔图，有一只狗": ["porto", "rex"] });
    expect(follow([porto(), tea(), rex()], ["Likes tea.", "Lives in Porto with a dog called Rex."])).toEqual({
      "Likes tea.": ["tea"],
      "Lives in Porto with a dog called Rex.": ["porto", "rex"],
    });
  });

  test("pass from a split line to each half", () => {
    expect(follow([draft("Lives in Porto and hates dill.", "both")], ["Lives in Porto.", "Hates dill."])).toEqual({
      "Lives in Porto.": ["both"],
      "Hates dill.": ["both"],
    });
  });

  test("pass from a line to the same one in another section", () => {
    expect(follow([], ["Lives in Porto."], [porto()])).toEqual({ "Lives in Porto.": ["porto"] });
  });

  test("pass from a removed line to every new line when it cannot be found again", () => {
    expect(follow([porto(), tea(), rex()], ["Likes tea.", "Has a dog called Rex.", "波尔图"])).toMatchObject({ 波尔图: ["porto"] });
  });

  test("pass from a line that one call removes to a line that a later call adds in another section", () => {
    const before = [porto()];
    const passOnSources = makePassOnSources(before);
    passOnSources(diffLines(before, ""));
    const later = diffLines([], "住在波尔图");
    passOnSources(later);
    expect([...(later.added[0]?.sources ?? [])]).toEqual(["porto"]);
  });

  test("pass from a removed line to a line that an earlier call added in another section", () => {
    const [before, earlier] = [[porto()], diffLines([], "住在波尔图")];
    const passOnSources = makePassOnSources(before);
    passOnSources(earlier);
    passOnSources(diffLines(before, ""));
    expect([...(earlier.added[0]?.sources ?? [])]).toEqual(["porto"]);
  });
});
