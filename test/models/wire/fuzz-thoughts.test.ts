import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { makeThoughtSplitter } from "../../../text/split-thoughts.ts";
import { cutAt, places } from "./fuzz-arbitraries.ts";

const OF_TAGS = [
  ...["<think>", "</think>", "<thinking>", "</thinking>", "<thought>", "</thought>", "<reasoning>", "</reasoning>", "</THINK>"],
  ...["[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<", "</", "<th", "ink>", "[", "◁"],
  ...[
    "<|start|>",
    "assistant",
    "<|channel|>",
    "analysis",
    "commentary to=f",
    "final",
    "<|constrain|>json",
    "<|message|>",
    "<|end|>",
    "<|return|>",
  ],
  ...["<|", "|>"],
];
const OF_TEXTS = ["\n", "\n\n", " ", "`", "```", "word", "Zwielicht", "a < b", "<b>", "</b>", "世界", "😀", "ß"];
const written = fc
  .array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...OF_TAGS, ...OF_TEXTS) }, fc.string()), { maxLength: 10 })
  .map((parts) => parts.join(""));

interface Split {
  text: string;
  thoughts: string;
  hasLoneClosing: boolean;
  thinksNotFirst: boolean;
}

function split(pieces: readonly string[], { thinksFirst = false, isWhole = true } = {}): Split {
  const splitter = makeThoughtSplitter({ thinksFirst });
  let [text, thoughts] = ["", ""];
  for (const piece of [...pieces.flatMap((one) => splitter.push(one)), ...splitter.end(isWhole)]) {
    if (piece.type === "text") text += piece.text;
    else if (piece.type === "thought") thoughts += piece.text;
    else [thoughts, text] = [thoughts + text, ""];
  }
  return { text, thoughts, hasLoneClosing: splitter.hasLoneClosing(), thinksNotFirst: splitter.thinksNotFirst() };
}

describe("makeThoughtSplitter", () => {
  test.each([
    ["an answer that ended", { isWhole: true }],
    ["an answer that was cut off", { isWhole: false }],
    ["an answer of a model that begins with a thought", { isWhole: true, thinksFirst: true }],
    ["an answer of a model that begins with a thought, cut off", { isWhole: false, thinksFirst: true }],
  ])("property: splits %s in the same way, however it is cut", (_name, options: { isWhole: boolean; thinksFirst?: boolean }) => {
    fc.assert(
      fc.property(written, places, (text, at) => {
        expect(split(cutAt(at)(text), options)).toEqual(split([text], options));
      }),
      { numRuns: 3_000 },
    );
  });

  test("property: leaves a text alone that has nothing of a tag", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), places, (anything, at) => {
        const text = anything.replace(/[<[◁]/g, "");
        expect(split(cutAt(at)(text))).toMatchObject({ text, thoughts: "" });
      }),
      { numRuns: 1_000 },
    );
  });

  const tags = fc.constantFrom(["<think>", "</think>"], ["<Thought>", "</thought>"], ["[THINK]", "[/THINK]"], ["◁think▷", "◁/think▷"]);
  const between = fc
    .array(fc.oneof(fc.constantFrom(...OF_TEXTS, "<", "[", "</b", "`</x>`"), fc.string()), { maxLength: 6 })
    .map((parts) => parts.join(""));

  test("property: takes out exactly what stands between the first tags, and loses nothing behind them", () => {
    fc.assert(
      fc.property(tags, between, between, places, ([opening = "", closing = ""], thought, answer, at) => {
        const text = `Then: ${answer}`;
        expect(split(cutAt(at)(`${opening}${thought}${closing}\n\n${text}`))).toMatchObject({ text, thoughts: thought });
      }),
      { numRuns: 1_500 },
    );
  });

  test("finds the closing tag behind a letter that grows when it is made small", () => {
    expect(split(["<think>İzmir, İstanbul</think>Merhaba"])).toMatchObject({ text: "Merhaba", thoughts: "İzmir, İstanbul" });
  });

  test("keeps an answer behind a thought that is nothing but the beginning of a tag", () => {
    expect(split(["<think>Which bracket?</think>["]).text).toBe("[");
  });

  test("takes out an opening tag that comes in one piece with its closing one, of a model that begins with a thought", () => {
    expect(split(["<think>hm</think>Hello"], { thinksFirst: true })).toMatchObject({ text: "Hello", thoughts: "hm" });
  });

  test("says no thought that quotes a token of a channel", () => {
    const thought = "What does <|message|> mean? Zwielicht";
    const { text } = split([`<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant<|channel|>final<|message|>Hello`]);
    expect(text).toBe("Hello");
  });
});
