import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { anyText } from "../../support/samples/any-text.ts";
import { decideOffline, toSections } from "./changed-lines.ts";
import { SENTENCES } from "./sentences.ts";

const phrase = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...SENTENCES.map(({ message }) => message)) },
  fc.constantFrom(
    "I like ",
    "My name is ",
    "I live in ",
    "Remember that my ",
    "我喜欢",
    "我叫",
    "我住在",
    "忘掉我",
    "and ",
    "，",
    "\n",
    ". ",
    "<b>",
    "{{x}}",
  ),
  fc.string({ maxLength: 12 }),
);
/** Sentences that say something, one after the other and cut into one another, with odd text in between. */
const saying = fc
  .array(phrase, { maxLength: 5 })
  .chain((parts) => fc.constantFrom(" ", "", "\n", ", ").map((between) => parts.join(between)));
const knownLines = fc
  .uniqueArray(
    fc.constantFrom(...SENTENCES.flatMap(({ expected, known = [] }) => [...known, ...expected]).map((line) => line.replace(/^-/, ""))),
    {
      maxLength: 8,
    },
  )
  .map(toSections);
const options = fc.record({ onlyAdd: fc.boolean(), sectionLimit: fc.constantFrom(2_000, 80, 30, 5) });

function apply(sections: Record<string, string>, updates: { section: string; content: string }[]): Record<string, string> {
  const after = { ...sections };
  for (const { section, content } of updates) after[section] = content;
  return after;
}

describe("decideOffline, whatever is said", () => {
  test("stores lines of at most 160 characters within the limit, without tags, templates or control characters", () => {
    fc.assert(
      fc.property(fc.oneof(saying, anyText, fc.string({ unit: "binary" })), options, (message, chosen) => {
        for (const { content, reason } of decideOffline({}, message, chosen)) {
          expect(content.length).toBeLessThanOrEqual(chosen.sectionLimit);
          expect(content).not.toMatch(/[<>{}[\]`|$\\]/);
          expect(reason).not.toMatch(/[<{]/);
          for (const line of content.split("\n")) {
            expect(line).not.toMatch(/\p{Cc}|\u2028|\u2029/u);
            expect(line.trim()).not.toBe("");
            expect(line.length).toBeLessThanOrEqual(160);
          }
        }
      }),
      { numRuns: 600 },
    );
  });

  test("never throws, whatever is known", () => {
    fc.assert(
      fc.property(
        fc.oneof(saying, anyText),
        fc.dictionary(fc.constantFrom("profile", "preferences", "other"), anyText),
        (message, sections) => {
          for (const { content } of decideOffline(sections, message)) expect(content.length).toBeLessThanOrEqual(2_000);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("the same message twice changes nothing more", () => {
    fc.assert(
      fc.property(saying, knownLines, options, (message, known, chosen) => {
        const after = apply(known, decideOffline(known, message, chosen));
        expect(decideOffline(after, message, chosen)).toEqual([]);
      }),
      { numRuns: 800 },
    );
  });

  test("an older message takes no line away", () => {
    fc.assert(
      fc.property(saying, knownLines, (message, known) => {
        for (const { section, content } of decideOffline(known, message, { onlyAdd: true }))
          expect(content.split("\n")).toEqual(expect.arrayContaining((known[section] ?? "").split("\n").filter(Boolean)));
      }),
      { numRuns: 400 },
    );
  });

  test.each([
    "<b>I like tea</b>",
    "I like <tea>",
    "I like {{tea}}",
    "My name is `x`",
    "I like ${tea}",
    "I like [INST] tea",
    "我最喜欢的<>是茶",
    "My favourite tea<> is tea",
  ])("%j is not stored", (message) => expect(decideOffline({}, message)).toEqual([]));
});
