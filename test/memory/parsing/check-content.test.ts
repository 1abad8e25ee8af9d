import { describe, expect, test } from "@jest/globals";
import { assertLooksReadable } from "../../../memory/parsing/parse-document.ts";
import { DOCX, PDF } from "./parse-sample.ts";
import { sampleDocx } from "./sample-docx.ts";
import { pdfOf } from "./sample-pdf.ts";

const check = (contentType: string, content: string | Uint8Array) => (): void =>
  assertLooksReadable({ bytes: typeof content === "string" ? Buffer.from(content) : content, contentType });

test.each<[string, string | Uint8Array]>([
  ["Text/Plain; Charset=UTF-8", "words"],
  ["text/plain; charset=gbk", Uint8Array.from([0xd6, 0xaa])],
  ["text/plain; charset=utf-16le", Uint8Array.from([0xe5, 0x77])],
  ["text/markdown; variant=GFM", "# words"],
  ["text/html", "<p>words</p>"],
  ["text/csv; header=present", "a,b"],
  [PDF, Buffer.concat([Buffer.from("\r\n\u0000"), pdfOf("words")])],
  [DOCX, sampleDocx("")],
])("%s looks readable", (contentType, content) => expect(check(contentType, content)).not.toThrow());

test.each(["application/msword", "image/png", "text/plainly", "", "no type", "text/plain\r\nx: y", "__proto__/x"])(
  "the type %j is refused with those that are read",
  (contentType) => {
    const named = /text\/plain \(plain text\), text\/markdown .* application\/pdf \(PDF\), .*\(DOCX\)\.$/;
    const refused = { code: "unsupported_media_type", message: expect.stringMatching(named) as unknown };
    expect(check(contentType, "words")).toThrow(expect.objectContaining(refused));
  },
);

describe("what cannot be read", () => {
  test.each<[string, string, string | Uint8Array, RegExp]>([
    ["nothing", "text/plain", "", /empty/],
    ["blanks", "text/markdown", " \n\t\u3000\uFEFF", /blank/],
    ["text as PDF", PDF, "words", /no PDF file, though its type is application\/pdf/],
    ["text as DOCX", DOCX, "words", /no DOCX file/],
    ["an old .doc as DOCX", DOCX, Uint8Array.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), /no DOCX file/],
    ["GBK without its charset", "text/plain", Uint8Array.from([0xb4, 0xfc, 0xca, 0xf3]), /not valid utf-8 text/],
    ["text that is not of its charset", "text/plain; charset=gbk", Uint8Array.from([0xff, 0xff]), /not valid gbk text/],
    ["a charset nobody knows", "text/plain; charset=klingon", "words", /charset "klingon" is unknown/],
    ["NUL characters", "text/plain", "wor\0ds", /NUL/],
    ["half a character at the end", "text/plain", Uint8Array.from([0x61, 0xe7, 0x9f]), /not valid utf-8/],
  ])("%s", (_name, contentType, content, says) => {
    expect(check(contentType, content)).toThrow(
      expect.objectContaining({ code: "document_unreadable", message: expect.stringMatching(says) as unknown }),
    );
  });

  test("more bytes than 20 MiB", () => {
    expect(check("text/plain", Buffer.alloc(20 * 2 ** 20, "a"))).not.toThrow();
    expect(check("text/plain", Buffer.alloc(20 * 2 ** 20 + 1, "a"))).toThrow(/20971521 bytes, more than the 20971520 allowed/);
  });
});
