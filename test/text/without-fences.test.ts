import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { fence } from "../../text/fence.ts";
import { makeFenceRemover } from "../../text/without-fences.ts";

function shown(pieces: readonly string[]): string {
  const remover = makeFenceRemover();
  return pieces.map((piece) => remover.take(piece)).join("") + remover.end();
}

const OUTPUT = fence("tool_output", [{ text: "sunny\n> warm\n\nat noon" }]);

describe("an answer", () => {
  test.each([
    ["repeats a fence", `It says:\n${OUTPUT}\nSo go out.`, "It says:\nsunny\n> warm\n\nat noon\nSo go out."],
    ["is a fence alone", OUTPUT, "sunny\n> warm\n\nat noon"],
    ["opens a fence and never closes it", "<tool_output>\n> sunny", "sunny"],
    ["has only the end of a fence", "sunny\n</tool_output>", "sunny\n"],
    ["writes a fence on one line", "<tool_output>sunny</tool_output>!", "sunny!"],
    ["quotes on its own", "> a quote\n<b>bold</b>", "> a quote\n<b>bold</b>"],
    ["has somebody's XML", "<passages>\n> 1\n</passages>", "<passages>\n> 1\n</passages>"],
    ["ends with what might have become a tag", "a <tool_out", "a <tool_out"],
  ])("that %s is shown without our tags, wherever it is cut", (_what, text, expected) => {
    expect(shown([text])).toBe(expected);
    expect(shown([...text])).toBe(expected);
    for (let cut = 1; cut < text.length; cut++) expect(shown([text.slice(0, cut), text.slice(cut)])).toBe(expected);
  });

  test("property: without our tags is shown as it is, however it is cut", () => {
    const words = fc.constantFrom("<", "</", ">", "> ", "\n", "tool_", "output", "<tool", "user_", "sunny", "<b>");
    const noTag = (pieces: string[]): boolean => !/<\/?(?:tool_output|user_message|user_wishes)>/u.test(pieces.join(""));
    fc.assert(
      fc.property(fc.array(words).filter(noTag), (pieces) => expect(shown(pieces)).toBe(pieces.join(""))),
      { numRuns: 500 },
    );
  });

  test("comes at once where no tag can begin", () => {
    const remover = makeFenceRemover();
    expect(["It is ", "<b>", " sunny <tool", " tip"].map((piece) => remover.take(piece))).toEqual([
      "It is ",
      "<b>",
      " sunny ",
      "<tool tip",
    ]);
  });
});
