import { deflateSync } from "node:zlib";
import { zipSync, type Zippable } from "fflate";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { AppError } from "../../../../errors/app-error.ts";
import type { DocumentLimits } from "../../../../memory/documents/parsing/document.ts";
import { readMarkdown } from "../../../../memory/documents/parsing/read-markdown.ts";
import { DOCX, encryptedPdf, parseSample, PDF, pdfOf, sampleDocx, samplePdf, wordParagraph } from "./sample-documents.ts";
import { encryptedOdt, ODT, PPTX, sampleOdt, samplePptx, sampleXlsx, sheetRow, XLSX } from "./sample-office-files.ts";

const MIB = 2 ** 20;
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => {
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

/** Memory runs out sooner. */
const SMALL = { memoryBytes: 150 * MIB };
const zeros = (mebibytes: number) => new Uint8Array(mebibytes * MIB);
const isItsOwnPage = () => Buffer.from(pdfOf("x").toString("latin1").replace("[3 0 R ]", "[2 0 R ]"), "latin1");
const nested = `${"<w:sdt><w:sdtContent>".repeat(20_000)}${"</w:sdtContent></w:sdt>".repeat(20_000)}`;
const manyFiles = (): Zippable => Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`${n}`, [zeros(0), { level: 0 }]]));
const wideAndLong = `<row r="1"><c r="XFD1"><v>1</v></c></row><row r="1048576"><c r="A1048576"><v>1</v></c></row>`;
const bomb = () => samplePdf(deflateSync(deflateSync(Buffer.alloc(500 * MIB, "\n"))), { stream: "/Filter[/FlateDecode/FlateDecode]" });

test.each<[string, string, RegExp, () => string | Uint8Array, Partial<DocumentLimits>?]>([
  ["a PDF with a password", PDF, /password.*copy without/, encryptedPdf],
  ["a PDF cut off in its objects", PDF, /damaged or incomplete/, () => pdfOf("words").subarray(0, 150)],
  ["a PDF that is its own page", PDF, /damaged or incomplete/, isItsOwnPage],
  ["a PDF without text", PDF, /no text in it.*OCR/, () => samplePdf("BT ET")],
  ["a PDF of 2,001 pages", PDF, /2001 pages, more than the 2000/, () => pdfOf("again", { repeatedPages: 2_001 })],
  ["a PDF whose page unpacks to gigabytes", PDF, /too much memory/, bomb, SMALL],
  ["a DOCX that is a zip bomb", DOCX, /unpacks to more than the 67108864 bytes/, () => sampleDocx("", { "word/media.xml": zeros(65) })],
  ["a DOCX that is another zip", DOCX, /no DOCX file/, () => zipSync({ "a.txt": zeros(0) })],
  ["a DOCX cut off", DOCX, /damaged or incomplete/, () => sampleDocx(wordParagraph("words")).subarray(0, 700)],
  ["a DOCX nested too deeply", DOCX, /nested too deeply/, () => sampleDocx(nested)],
  ["a DOCX of broken XML", DOCX, /damaged/, () => sampleDocx("<w:p></w:q><")],
  ["a DOCX of too many files", DOCX, /more than 10000 files/, () => sampleDocx("", manyFiles())],
  ["a PPTX that is a zip bomb", PPTX, /unpacks to more than/, () => samplePptx([["a", "b"]], { "ppt/slides/slide9.xml": zeros(65) })],
  ["a PPTX that is a DOCX", PPTX, /no PPTX file/, () => sampleDocx(wordParagraph("words"))],
  ["a PPTX cut off", PPTX, /damaged or incomplete/, () => samplePptx([["a", "b"]]).subarray(0, 700)],
  ["a PPTX of broken XML", PPTX, /damaged/, () => samplePptx([["a", "b</p:x><"]])],
  ["an XLSX that is a zip bomb", XLSX, /unpacks to more than/, () => sampleXlsx({ a: "" }, { "xl/worksheets/sheet9.xml": zeros(65) })],
  ["an XLSX that is a PPTX", XLSX, /no XLSX file/, () => samplePptx([["a", "b"]])],
  ["an XLSX of broken XML", XLSX, /damaged/, () => sampleXlsx({ a: "<row></c><" })],
  ["an XLSX whose last row has number 900000000000", XLSX, /too much memory/, () => sampleXlsx({ a: sheetRow(9e11, ["x"]) })],
  ["an XLSX of 16384 columns and a million rows", XLSX, /too much memory/, () => sampleXlsx({ a: wideAndLong }), SMALL],
  ["an ODT that is a zip bomb", ODT, /unpacks to more than/, () => sampleOdt("", { "a.xml": zeros(65) })],
  ["an ODT with a password", ODT, /password.*copy without/, encryptedOdt],
  [
    "an ODT nested too deeply",
    ODT,
    /nested too deeply/,
    () => sampleOdt(`${"<text:section>".repeat(20_000)}x${"</text:section>".repeat(20_000)}`),
  ],
  ["an ODT of broken XML", ODT, /damaged/, () => sampleOdt("<text:p></x><")],
  ["text of too many characters", "text/plain", /5000001 characters of text, more than the 5000000/, () => "a".repeat(5_000_001)],
  ["text of more bytes than allowed", "text/plain", /it has 11 bytes, more than the 10 allowed/, () => "hello world", { bytes: 10 }],
  ["HTML a million levels deep", "text/html", /nested too deeply/, () => `${"<div>".repeat(1_000_000)}deep`],
  ["HTML of nothing but scripts", "text/html", /no text in it/, () => "<script>alert('words')</script><style>p{}</style><nav>menu</nav>"],
  ["HTML at the deadline", "text/html", /longer than 0.3 s/, () => "<p>a</p>".repeat(2_000_000), { timeoutMs: 300 }],
  ["HTML of too much memory", "text/html", /too much memory/, () => "<p>a</p>".repeat(1_000_000), { memoryBytes: 60 * MIB }],
])("%s is refused, with a reason that shows nothing of a library", async (_name, contentType, says, make, limits = {}) => {
  const read = (): Promise<unknown> => parseSample(contentType, make(), limits).catch((thrown: unknown) => thrown);
  const isOverloaded = (error: unknown): boolean => error instanceof AppError && error.code === "overloaded";
  let error = await read();
  // A thread that a busy machine holds up is read again, as a job does.
  for (let tries = 0; tries < 20 && isOverloaded(error); tries++) error = await read();
  expect(error).toBeInstanceOf(AppError);
  const { code, message } = error as AppError;
  expect(code).toBe("document_unreadable");
  expect(message).toMatch(/^The document "sample" cannot be read: /);
  expect(message).toMatch(says);
  expect(message).not.toMatch(/node_modules|\.js|\bat \w+ \(|Error|Exception/);
  expect(process.getActiveResourcesInfo()).not.toContain("MessagePort");
});

test.each<[string, string, () => string | Uint8Array, string]>([
  ["a DOCX with its pictures, which stay packed", DOCX, () => sampleDocx(wordParagraph("x"), { "word/a.png": zeros(100) }), "x"],
  ["HTML a thousand levels deep", "text/html", () => `${"<div>".repeat(1_000)}deep`, "deep"],
])("%s is read", async (_name, contentType, make, text) => expect(await parseSample(contentType, make())).toEqual([{ heading: "", text }]));

test("an ODT that repeats a cell a billion times is cut off", async () => {
  const cell = '<table:table-cell table:number-columns-repeated="1000000"><text:p>words</text:p></table:table-cell>';
  const body = `<table:table><table:table-row table:number-rows-repeated="1000">${cell}</table:table-row></table:table>`;
  expect((await parseSample(ODT, sampleOdt(body))).length).toBeLessThan(1_000);
});

test("one line of five million characters, as many as are allowed, is read", async () => {
  const chunks = await parseSample("text/plain", "a".repeat(5_000_000));
  expect(chunks.reduce((sum, { text }) => sum + text.length, 0)).toBeGreaterThanOrEqual(5_000_000);
});

test("a DOCX that lies about the size of what it holds is cut off there", async () => {
  const file = sampleDocx(wordParagraph("x"), { "word/a.xml": zeros(30) });
  // The size unpacked is in the central directory, after the 20 bytes before it.
  const entry = file.toString("latin1").lastIndexOf("word/a.xml") - 46;
  file.writeUInt32LE(10, entry + 24);
  expect(await parseSample(DOCX, file, { expandedBytes: MIB })).toMatchObject([{ text: "x" }]);
});

test("HTML keeps its words and loses the marks that the reader uses itself, NUL and halves of surrogate pairs", async () => {
  const parts = JSON.stringify(await parseSample("text/html", "<p>a\u00011b\u0002c &#1;2 d &#xD83D; &#0;</p><h1>e<h2>f</h2></h1>"));
  expect(parts).not.toMatch(/\\u(?:000[012]|d83d)/i);
  for (const word of ["a", "b", "c", "d", "e", "f"]) expect(parts).toContain(word);
});

test.each([
  ["brackets", "[".repeat(1_000_000)],
  ["quotations", "> ".repeat(300_000)],
  ["lists", `${"- ".repeat(100)}a\n`.repeat(5_000)],
])("reading Markdown of a million %s ends", (_name, text) => expect(readMarkdown(text)).toHaveLength(1));
