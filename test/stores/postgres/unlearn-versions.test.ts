import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { unlearnVersions, type TaughtVersion } from "../../../stores/postgres/unlearn-versions.ts";

/** Few lines, so that they come, go and come back. */
const anyLine = fc.constantFrom("a", "b", "c", "a cat", "A", "ä");
const anyVersion = fc.record({
  content: fc.option(
    fc.uniqueArray(anyLine, { minLength: 1, maxLength: 4 }).map((lines) => lines.join("\n")),
    { freq: 5 },
  ),
  taught: fc.boolean(),
});
const anyHistory = fc
  .array(anyVersion, { maxLength: 8 })
  .map((versions) => versions.map((fields, index): TaughtVersion => ({ ...fields, version: 2 * index + 1 })));

const linesOf = (content: string | null | undefined): string[] => (content ?? "").split("\n").filter(Boolean);
const check = (property: (history: TaughtVersion[]) => void): void => fc.assert(fc.property(anyHistory, property), { numRuns: 2_000 });

/** The same by plain sets: each author's additions and removals, those of what is erased left out. */
function withoutTaught(history: TaughtVersion[]): Map<number, string[]> {
  const result = new Map<number, string[]>();
  let [was, wouldBe] = [new Set<string>(), new Set<string>()];
  for (const { version, content, taught } of history) {
    const now = new Set(linesOf(content));
    if (!taught) {
      const next = new Set(wouldBe);
      for (const line of was) if (!now.has(line)) next.delete(line);
      for (const line of now) if (!was.has(line)) next.add(line);
      if (content === null) next.clear();
      wouldBe = next;
      result.set(version, [...wouldBe].sort());
    }
    was = now;
  }
  return result;
}

describe("unlearnVersions", () => {
  test("keeps the versions of others, all of them, in order, and none of what is erased", () => {
    check((history) => {
      const others = history.filter(({ taught }) => !taught).map(({ version }) => version);
      expect(unlearnVersions(history).map(({ version }) => version)).toEqual(others);
    });
  });

  test("is what the others did, done without what is erased", () => {
    check((history) => {
      const expected = withoutTaught(history);
      for (const { version, content } of unlearnVersions(history)) expect(linesOf(content).sort()).toEqual(expected.get(version));
    });
  });

  test("leaves no line that only what is erased brought in", () => {
    check((history) => {
      const written = new Set(
        history.flatMap(({ content, taught }, index) => {
          const before = linesOf(history[index - 1]?.content);
          return taught ? [] : linesOf(content).filter((line) => !before.includes(line));
        }),
      );
      for (const { content } of unlearnVersions(history)) expect(linesOf(content).filter((line) => !written.has(line))).toEqual([]);
    });
  });

  test("tells for each version what came before it", () => {
    check((history) => {
      const kept = unlearnVersions(history);
      expect(kept.map(({ before }) => before)).toEqual([null, ...kept.map(({ content }) => content)].slice(0, kept.length));
    });
  });

  test("changes nothing when nothing of it is erased, blank lines and all", () => {
    check((history) => {
      const others = history.map((version) => ({ ...version, taught: false }));
      expect(unlearnVersions(others).map(({ version, content }) => ({ version, content }))).toEqual(
        others.map(({ version, content }) => ({ version, content })),
      );
    });
    const content = "Lives in Lisbon.\n\n- Has a cat.\n";
    expect(unlearnVersions([{ version: 1, content, taught: false }])).toMatchObject([{ content, isAfterErased: false }]);
  });

  test.each([
    ["a removal stays one", ["!a", null], [null]],
    [
      "what it took away is back",
      ["Lives in Lisbon.", "!Lives in Porto.", "Lives in Porto.\nLikes tea."],
      ["Lives in Lisbon.", "Lives in Lisbon.\nLikes tea."],
    ],
    ["what others wrote anew is theirs", ["!a", "b", "b\na"], ["b", "b\na"]],
    ["another line end, indentation or list mark is no other fact", ["!A secret.", "- A secret. \r\n  Likes tea."], ["  Likes tea."]],
    ["a section of which nothing is left is empty", ["!a", "a"], [""]],
  ])("%s", (_, contents, expected) => {
    const history = contents.map((content, index) => {
      return { version: index + 1, content: content?.replace(/^!/, "") ?? null, taught: content?.startsWith("!") ?? false };
    });
    expect(unlearnVersions(history).map(({ content }) => content)).toEqual(expected);
  });
});
