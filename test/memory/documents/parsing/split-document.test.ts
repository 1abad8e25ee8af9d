import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { DocumentPart } from "../../../../memory/documents/parsing/document.ts";
import { splitDocument, textSize } from "../../../../memory/documents/parsing/split-document.ts";
import { cutIntoSentences } from "../../../../text/split-sentences.ts";
import { anyText } from "../../../support/samples/any-text.ts";

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");
const prose = (sentences: number): string => Array.from({ length: sentences }, (_, n) => `Sentence ${n} tells of quokkas.`).join(" ");

test("a short document is one chunk, and an empty one none", async () => {
  expect(await splitDocument([{ heading: "A > B", text: "words" }])).toEqual([{ position: 0, heading: "A > B", text: "words" }]);
  expect(await splitDocument([])).toEqual([]);
  expect(await splitDocument([{ heading: "A", text: " \n " }])).toEqual([]);
});

describe("long prose", () => {
  test("in English becomes chunks of about 1,200 characters that end with a sentence and overlap a little", async () => {
    const chunks = await splitDocument([{ heading: "H", text: prose(300) }]);
    expect(chunks.map(({ position }) => position)).toEqual(chunks.map((_, n) => n));
    for (const [n, { text, heading }] of chunks.entries()) {
      expect(heading).toBe("H");
      expect(text.length).toBeLessThanOrEqual(1_200);
      if (n < chunks.length - 1) expect(text.length).toBeGreaterThan(1_000);
      expect(text).toMatch(/^Sentence .*\.$/s);
      if (n > 0) expect(chunks[n - 1]?.text).toContain(text.slice(0, 30));
    }
  });

  test("in Chinese becomes chunks of about 600 that end with a sentence", async () => {
    const sentences = Array.from({ length: 200 }, (_, n) => `第${n}句话说的是袋鼠和它的朋友们。`);
    const chunks = await splitDocument([{ heading: "", text: sentences.join("") }]);
    for (const { text } of chunks.slice(0, -1)) {
      expect(text.length).toBeGreaterThan(500);
      expect(text.length).toBeLessThanOrEqual(650);
      expect(text).toMatch(/^第.*。$/s);
    }
    for (const sentence of sentences) expect(chunks.some(({ text }) => text.includes(sentence))).toBe(true);
  });
});

describe("sections", () => {
  test("that are small are joined under their parent, their headings in the text", async () => {
    const parts = [
      { heading: "Guide > Install", text: "Run it." },
      { heading: "Guide > Use", text: "Ask it." },
      { heading: "Guide > Use > Twice", text: "Ask again." },
      { heading: "Other", text: "No more." },
    ];
    expect(await splitDocument(parts)).toEqual([
      { position: 0, heading: "Guide", text: "Install\n\nRun it.\n\nUse\n\nAsk it." },
      { position: 1, heading: "Guide > Use > Twice", text: "Ask again." },
      { position: 2, heading: "Other", text: "No more." },
    ]);
  });

  test("that are not small stay by themselves", async () => {
    const parts = [
      { heading: "A", text: prose(20) },
      { heading: "B", text: "Short." },
      { heading: "C", text: prose(20) },
    ];
    expect((await splitDocument(parts)).map(({ heading }) => heading)).toEqual(["A", "B", "C"]);
  });
});

test("rows are grouped, each with its columns and whole", async () => {
  const rows = Array.from({ length: 200 }, (_, n) => ({ heading: "", text: `name: quokka ${n}\nlimit: ${n}` }));
  const chunks = await splitDocument(rows);
  expect(chunks.length).toBeLessThan(10);
  expect(chunks.flatMap(({ text }) => text.split("\n\n"))).toEqual(expect.arrayContaining(rows.map(({ text }) => text)));
});

test.each([
  ["code with blank lines", `\`\`\`js\n${Array.from({ length: 20 }, (_, n) => `const a${n} = ${n};\n\n`).join("")}\`\`\``],
  ["a table", Array.from({ length: 20 }, (_, n) => `| quokka ${n} | ${n} |`).join("\n")],
])("%s stays whole", async (_name, block) => {
  const chunks = await splitDocument([{ heading: "", text: `${prose(25)}\n\n${block}\n\n${prose(25)}` }]);
  expect(chunks.length).toBeGreaterThan(1);
  expect(chunks.filter(({ text }) => text.includes(block))).toHaveLength(1);
});

test("a table longer than a chunk is cut between its rows", async () => {
  const rows = Array.from({ length: 200 }, (_, n) => `| quokka number ${n} | ${n} |`);
  const chunks = await splitDocument([{ heading: "", text: rows.join("\n") }]);
  expect(rows).toEqual(expect.arrayContaining(chunks.flatMap(({ text }) => text.split("\n"))));
});

test("a line of a million characters without a blank is cut, and others get their turns meanwhile", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const text = "𠮷".repeat(500_000);
  const chunks = await splitDocument([{ heading: "", text }], { overlap: 0 });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
  expect(chunks.map((chunk) => chunk.text).join("")).toBe(text);
  for (const chunk of chunks) expect(chunk.text.isWellFormed()).toBe(true);
});

describe("any document", () => {
  const word = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.constantFrom("袋鼠的上限", "😀😀", "```", "|", "# x", "\n\n", "\n", "\t", "\u3000", "e.g.", "https://x.org/?q=1!a", " ".repeat(70)),
  );
  const text = fc.oneof(
    fc.array(word, { maxLength: 300 }).map((all) => all.join(" ")),
    anyText,
  );
  const heading = fc.constantFrom("", "A", "A > B", "A > C", "A > C > D", "E");
  const part = fc.record({ heading, text: text.map((any) => any.toWellFormed()) });
  const documents: fc.Arbitrary<DocumentPart[]> = fc.array(part, { maxLength: 8 });
  const options = fc.record({ size: fc.integer({ min: 60, max: 1_500 }), overlap: fc.integer({ min: 0, max: 50 }) });

  /** Chinese sentences follow each other without a blank: a chunk may end between them. */
  const isWholeIn = (found: ReadonlySet<string>, each: string): boolean =>
    found.has(each) || cutIntoSentences(each).every((sentence) => found.has(sentence));

  test("is in its chunks word for word, none of them too long, empty or with half a character", async () => {
    await fc.assert(
      fc.asyncProperty(documents, options, async (parts, given) => {
        const chunks = await splitDocument(parts, given);
        const found = new Set(chunks.flatMap(({ text, heading: above }) => [...words(text), ...words(above)]));
        const fitting = parts.flatMap((one) => words(one.text)).filter((each) => textSize(each) <= given.size);
        expect(fitting.filter((each) => !isWholeIn(found, each))).toEqual([]);
        for (const [position, chunk] of chunks.entries()) {
          expect(chunk.position).toBe(position);
          expect(chunk.text.trim()).not.toBe("");
          expect(textSize(chunk.text)).toBeLessThanOrEqual(given.size);
          expect(chunk.text.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("loses no character but blanks: without overlap and joining, the chunks are the text", async () => {
    await fc.assert(
      fc.asyncProperty(text, options, async (any, { size }) => {
        const content = any.toWellFormed();
        const chunks = await splitDocument([{ heading: "", text: content }], { size, overlap: 0 });
        expect(words(chunks.map((chunk) => chunk.text).join("")).join("")).toBe(words(content).join(""));
      }),
      { numRuns: 300 },
    );
  });
});
