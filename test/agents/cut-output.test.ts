import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { cutOutput, MAX_OUTPUT_BYTES } from "../../agents/tool-output.ts";

test("a short output stays as it is", () => {
  expect(cutOutput("one\ntwo", null)).toEqual({ text: "one\ntwo", isCut: false });
});

test("a long line ends at a whole character and says how much is left out", () => {
  const { text, isCut } = cutOutput(`${"x".repeat(1_999)}😀😀\nnext`, null);
  expect(isCut).toBe(true);
  expect(text).toBe(`${"x".repeat(1_999)} [4 more characters of this line are left out]\nnext`);
});

test("the cut output of a tool that can read on says from where", () => {
  const whole = `${"line of some words\n".repeat(4_000)}the end`;
  const first = cutOutput(whole, 0);
  const offset = Number(/"offset": (\d+)/.exec(first.text)?.[1]);
  expect(first.text.slice(0, offset)).toBe(whole.slice(0, offset));
  const second = cutOutput(whole, offset);
  expect(second.text.endsWith("the end")).toBe(true);
  expect(second.isCut).toBe(false);
});

test("reading on shows each line once, also after lines that were cut", () => {
  const whole = Array.from({ length: 60 }, (_, number) => `line ${number}: ${"word ".repeat(500)}`).join("\n");
  let shown = "";
  for (let offset = 0, isLast = false; !isLast;) {
    const { text } = cutOutput(whole, offset);
    const [note, next] = /\n\[\d+ more characters are left out\. .*"offset": (\d+) to read on\.\]$/.exec(text) ?? [""];
    shown += text.slice(0, text.length - note.length);
    isLast = next === undefined;
    offset = Number(next);
  }
  expect([...shown.matchAll(/line (\d+):/g)].map(([, number]) => Number(number))).toEqual([...Array(60).keys()]);
});

test("any output fits, and stays well-formed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.integer({ min: 1, max: 2_000 }), (piece, times) => {
      const { text } = cutOutput(piece.repeat(times), null);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_OUTPUT_BYTES + 100);
      expect(text.isWellFormed()).toBe(true);
    }),
    { numRuns: 100 },
  );
});
