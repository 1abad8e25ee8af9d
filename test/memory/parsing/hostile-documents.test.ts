import { deflateSync } from "node:zlib";
import { zipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import type { DocumentLimits } from "../../../memory/parsing/document.ts";
import { DOCX, parseSample, PDF } from "./parse-sample.ts";
import { sampleDocx, wordParagraph } from "./sample-docx.ts";
import { encryptedPdf, pdfOf, samplePdf } from "./sample-pdf.ts";

const MIB = 2 ** 20;
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => {
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

async function expectUnreadable(says: RegExp, contentType: string, content: string | Uint8Array, limits?: Partial<DocumentLimits>) {
  const error: unknown = await parseSample(contentType, content, limits).then(
    (parts) => parts,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AppError);
  const { code, message } = error as AppError;
  expect(code).toBe("document_unreadable");
  expect(message).toMatch(/^The document "sample" cannot be read: /);
  expect(message).toMatch(says);
  // Nothing of a library shows.
  expect(message).not.toMatch(/node_modules|\.js|\bat \w+ \(|Error|Exception/);
  expect(process.getActiveResourcesInfo()).not.toContain("MessagePort");
}

describe("a hostile PDF", () => {
  test.each<[string, RegExp, () => Uint8Array]>([
    ["with a password", /password.*copy without/, encryptedPdf],
    ["cut off in its objects", /damaged or incomplete/, () => pdfOf("words").subarray(0, 150)],
    [
      "that is its own page",
      /damaged or incomplete/,
      () => Buffer.from(pdfOf("x").toString("latin1").replace("[3 0 R ]", "[2 0 R ]"), "latin1"),
    ],
    ["without text", /no text in it.*OCR/, () => samplePdf("BT ET")],
    ["of 2,001 pages", /2001 pages, more than the 2000/, () => pdfOf("again", { repeatedPages: 2_001 })],
  ])("%s", async (_name, says, make) => expectUnreadable(says, PDF, make()));

  test("that claims a million pages is read by those it has", async () => {
    expect(await parseSample(PDF, pdfOf("one page", { claimedPages: 1_000_000 }))).toMatchObject([{ text: "one page", page: 1 }]);
  });

  test("whose page unpacks to gigabytes is stopped at its memory", async () => {
    const bomb = deflateSync(deflateSync(Buffer.alloc(500 * MIB, "\n")));
    const file = samplePdf(bomb, { stream: "/Filter[/FlateDecode/FlateDecode]" });
    expect(file.length).toBeLessThan(10_000);
    await expectUnreadable(/too much memory/, PDF, file, { memoryBytes: 150 * MIB });
  });
});

describe("a hostile DOCX", () => {
  const zeros = (mebibytes: number) => new Uint8Array(mebibytes * MIB);

  test.each<[string, RegExp, () => Uint8Array]>([
    ["that is a zip bomb", /unpacks to more than the 67108864 bytes/, () => sampleDocx("", { "word/media.xml": zeros(65) })],
    ["that is another zip", /no Word document/, () => Buffer.from(zipSync({ "a.txt": zeros(0) }))],
    ["cut off", /damaged or incomplete/, () => sampleDocx(wordParagraph("words")).subarray(0, 700)],
    [
      "nested too deeply",
      /nested too deeply/,
      () => sampleDocx(`${"<w:sdt><w:sdtContent>".repeat(20_000)}${"</w:sdtContent></w:sdt>".repeat(20_000)}`),
    ],
    ["of broken XML", /damaged/, () => sampleDocx("<w:p></w:q><")],
    [
      "of too many files",
      /more than 10000 files/,
      () => sampleDocx("", Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`${n}`, zeros(0)]))),
    ],
  ])("%s", async (_name, says, make) => expectUnreadable(says, DOCX, make()));

  test("that lies about the size of what it holds is cut off there", async () => {
    const file = sampleDocx(wordParagraph("x"), { "word/a.xml": zeros(30) });
    // The size unpacked is in the central directory, after the 20 bytes before it.
    const text = file.toString("latin1");
    const entry = text.lastIndexOf("word/a.xml") - 46;
    file.writeUInt32LE(10, entry + 24);
    expect(await parseSample(DOCX, file, { expandedBytes: MIB })).toMatchObject([{ text: "x" }]);
  });

  test("keeps its pictures packed", async () => {
    const file = sampleDocx(wordParagraph("x"), { "word/media/image1.png": zeros(100) });
    expect(await parseSample(DOCX, file)).toEqual([{ heading: "", text: "x" }]);
  });
});

describe("hostile text", () => {
  test("of one line of five million characters is read, and of one more is not", async () => {
    const line = "a".repeat(5_000_000);
    expect(await parseSample("text/plain", line)).toEqual([{ heading: "", text: line }]);
    await expectUnreadable(/5000001 characters of text, more than the 5000000/, "text/plain", `${line}a`);
  });

  test("of more bytes than allowed is not given to a worker", async () => {
    await expectUnreadable(/it has 11 bytes, more than the 10 allowed/, "text/plain", "hello world", { bytes: 10 });
  });

  test("as HTML a thousand levels deep is read, and a million deep is not", async () => {
    expect(await parseSample("text/html", `${"<div>".repeat(1_000)}deep`)).toEqual([{ heading: "", text: "deep" }]);
    await expectUnreadable(/nested too deeply/, "text/html", `${"<div>".repeat(1_000_000)}deep`);
  });

  test("as HTML of nothing but scripts has no text", async () => {
    await expectUnreadable(/no text in it/, "text/html", "<script>alert('words')</script><style>p{}</style><nav>menu</nav>");
  });

  test("as HTML with the marks that the reader uses itself", async () => {
    const parts = await parseSample("text/html", "<p>a\u00011b\u0002c &#1;2 d</p><h1>e<h2>f</h2></h1>");
    expect(JSON.stringify(parts)).not.toMatch(/\\u000[12]/);
    for (const word of ["a", "b", "c", "d", "e", "f"]) expect(JSON.stringify(parts)).toContain(word);
  });

  test("with half a surrogate pair comes out well-formed", async () => {
    const parts = await parseSample("text/html", "<p>&#xD83D; x &#0;</p>");
    expect(parts[0]?.text.isWellFormed()).toBe(true);
    expect(parts[0]?.text).not.toContain("\0");
  });

  test("as Markdown of a million brackets, quotations and lists ends", async () => {
    for (const text of ["[".repeat(1_000_000), "> ".repeat(300_000), `${"- ".repeat(100)}a\n`.repeat(5_000)]) {
      expect(await parseSample("text/markdown", text)).toHaveLength(1);
    }
  });

  test("as CSV of a quotation that never ends, or a column called __proto__", async () => {
    expect(await parseSample("text/csv", 'a,b\n"never, ends')).toMatchObject([{ text: "a: never, ends" }]);
    expect(await parseSample("text/csv", "__proto__,constructor\nx,y")).toMatchObject([{ text: "__proto__: x\nconstructor: y" }]);
  });

  test("is stopped at the deadline", async () => {
    await expectUnreadable(/longer than 0.3 s/, "text/html", "<p>a</p>".repeat(2_000_000), { timeoutMs: 300 });
  });

  test("is stopped at its memory, and the process lives", async () => {
    await expectUnreadable(/too much memory/, "text/html", "<p>a</p>".repeat(1_000_000), { memoryBytes: 60 * MIB });
  });
});
