import { setImmediate as letOthersRun, setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { DOCUMENT_LIMITS } from "../../../../memory/documents/parsing/document.ts";
import { assertLooksReadable, parseDocument } from "../../../../memory/documents/parsing/parse-document.ts";
import { readDocx } from "../../../../memory/documents/parsing/read-docx.ts";
import { readHtml } from "../../../../memory/documents/parsing/read-html.ts";
import { readMarkdown } from "../../../../memory/documents/parsing/read-markdown.ts";
import { chinesePdf, DOCX, parseSample, PDF, pdfOf, sampleDocx, samplePdf, wordParagraph, wordTable } from "./sample-documents.ts";
import { sampleXlsx, XLSX } from "./sample-office-files.ts";

const check = (contentType: string, content: string | Uint8Array) => (): void =>
  assertLooksReadable({ bytes: typeof content === "string" ? Buffer.from(content) : content, contentType });

test.each<[string, string | Uint8Array]>([
  ["Text/Plain; Charset=UTF-8", "words"],
  ["text/markdown; variant=GFM", "# words"],
  ["text/csv; header=present", "a,b"],
  [PDF, Buffer.concat([Buffer.from("\r\n\u0000"), pdfOf("words")])],
  [DOCX, sampleDocx("")],
  [XLSX, sampleXlsx({})],
])("%s looks readable", (contentType, content) => expect(check(contentType, content)).not.toThrow());

test.each(["application/msword", "image/png", "text/plainly", "", "no type", "text/plain\r\nx: y", "__proto__/x"])(
  "the type %j is refused with those that are read",
  (contentType) => {
    const named =
      /text\/plain \(plain text\), text\/markdown .* application\/pdf \(PDF\), .*\(DOCX\), .*\(PPTX\), .*\(XLSX\), .*\(ODT\)\.$/;
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
    ["an old .doc as DOCX", DOCX, Uint8Array.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), /no DOCX file but one of Office 2003.*password/],
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

test.each([
  ["text/plain", Buffer.from("first\r\nsecond 😀\rthird"), "first\nsecond 😀\nthird"],
  ["text/plain; charset=gbk", [0xd6, 0xaa, 0xca, 0xb6, 0xbf, 0xe2], "知识库"],
  ["text/plain", [0xef, 0xbb, 0xbf, 0x61], "a"],
  ["text/plain", [0xff, 0xfe, 0xe5, 0x77], "知"],
  ["text/plain; charset=ISO-8859-1", [0xe9], "é"],
  ["text/html", [...Buffer.from('<meta charset="gb2312"><p>'), 0xd6, 0xaa, 0xca, 0xb6, ...Buffer.from("</p>")], "知识"],
])("text of %s is one part, decoded, with lines that end in \\n", async (contentType, bytes, text) => {
  expect(await parseSample(contentType, Uint8Array.from(bytes))).toEqual([{ heading: "", text }]);
});

test("a Buffer that is part of a larger one is read alone, and stays usable", async () => {
  const bytes = Buffer.from("before|inside|after").subarray(7, 13);
  expect(await parseSample("text/plain", bytes)).toEqual([{ heading: "", text: "inside" }]);
  expect(bytes.toString()).toBe("inside");
});

test("Markdown is cut at its headings, underlined ones too, and not in code, lists or front matter", () => {
  const markdown = `---
title: x
---
Intro
# Guide \`v2\`
## Install
\`\`\`sh
# no heading
\`\`\`
- # in a list

Use
---
| a | b |
|---|---|
| 1 | 2 |
# Last words`;
  expect(readMarkdown(markdown)).toEqual([
    { heading: "", text: "---\ntitle: x\n---\nIntro" },
    { heading: "Guide `v2` > Install", text: "```sh\n# no heading\n```\n- # in a list" },
    { heading: "Guide `v2` > Use", text: "| a | b |\n|---|---|\n| 1 | 2 |" },
    { heading: "", text: "Last words" },
  ]);
});

test("a heading is what a reader sees of it: no badges, no addresses of links", () => {
  const badge = "[![Weekly downloads](https://x.example/a.svg)](https://x.example/b) ![logo][1]";
  const text = `# Chokidar ${badge}\n\nWatches.\n\n## See [the guide](https://x.example)\n\nMore.`;
  expect(readMarkdown(text).map(({ heading }) => heading)).toEqual(["Chokidar", "Chokidar > See the guide"]);
});

test("a heading of a page's length is cut in the path and kept in the text", () => {
  const words = "word ".repeat(100).trim();
  const [part] = readMarkdown(`# ${words}\n\nText`);
  expect(part?.heading.length).toBeLessThanOrEqual(200);
  expect(part?.text).toMatch(new RegExp(`^${words}\n\n+Text$`));
});

describe("HTML", () => {
  test("is cut at its headings, with tables, lists and code, without scripts, styles and navigation", async () => {
    const html = `<!doctype html><html><head><title>Tab</title><style>b{color:red}</style><script>var hidden = "<h1>no</h1>"</script></head>
<body><nav><a href="/">Menu</a></nav><div role="navigation">More menu</div><p>Lead with <b>bold</b> snake_case &amp; 1 &lt; 2</p>
<h1>Animals<br>of Rottnest</h1><ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><p hidden>unseen</p>
<h2>Limits</h2><table><tr><th>Name</th><th>Limit</th></tr><tr><td><p>quokka</p><p>small</p></td><td>72</td></tr></table>
<pre>if x:
    y

z</pre><p>See <a href="https://example.org/long">the list</a> <img alt="A map" src="x.png"></p><script>alert(1)</script></body></html>`;
    expect(await readHtml(html)).toEqual([
      { heading: "", text: "Lead with bold snake_case & 1 < 2" },
      { heading: "Animals of Rottnest", text: "- one\n  - inner\n- two" },
      {
        heading: "Animals of Rottnest > Limits",
        text: "| Name | Limit\n| quokka small | 72\n\n```\nif x:\n    y\n\nz\n```\n\nSee the list A map",
      },
    ]);
  });

  test("without a body, or with text after it, loses nothing", async () => {
    expect(await readHtml("<p>one</p><body>two</body>three<body>four")).toMatchObject([
      { text: expect.stringMatching(/one\s+two\s*three\s*four/) },
    ]);
  });
});

test.each([
  [
    "every cell: columns of one name, cells beyond the header, line breaks within quotes",
    'name,2024,2023,name\n"quokka, the",72,71,"two\nlines"\n\nwombat,,5,,beyond\n',
    ["name: quokka, the\n2024: 72\n2023: 71\nname: two lines", "name: wombat\n2023: 5\ncolumn 5: beyond"],
  ],
  ["cells between semicolons", "name;price\r\nquokka;1,5", ["name: quokka\nprice: 1,5"]],
  ["cells between tabs", "name\tprice\r\nquokka\t1,5", ["name: quokka\nprice: 1,5"]],
  ["a title above the header", "Limits of 2026\nname,limit\nquokka,72", ["Limits of 2026", "name: quokka\nlimit: 72"]],
  ["a header alone", "name,limit\n", ["name\nlimit"]],
  ["a quotation that never ends", 'a,b\n"never, ends', ["a: never, ends"]],
  ["a column called __proto__", "__proto__,constructor\nx,y", ["__proto__: x\nconstructor: y"]],
])("CSV is read row by row, with %s", async (_name, csv, texts) => {
  expect(await parseSample("text/csv", csv)).toEqual([{ heading: "", text: texts.join("\n\n") }]);
});

test.each([
  ["its pages", pdfOf("again", { repeatedPages: 2 }), ["again", "again"]],
  ["its lines", samplePdf("BT /F1 18 Tf 20 100 Td (First line) Tj 0 -20 Td (second line) Tj ET"), ["First line\nsecond line"]],
  [
    "Chinese without its font, its sentences whole again",
    chinesePdf(["使用说明", "袋鼠的上限是七十二只并且不得在任何情况", "下超过这个数目。"]),
    ["使用说明\n袋鼠的上限是七十二只并且不得在任何情况下超过这个数目。"],
  ],
  ["the pages it has, when it claims a million", pdfOf("one page", { claimedPages: 1_000_000 }), ["one page"]],
])("PDF is read with %s", async (_name, file, texts) => {
  expect(await parseSample(PDF, file)).toEqual([{ heading: "", text: texts.join("\n\n") }]);
});

test("DOCX is cut at its headings, with its tables, in Chinese too", async () => {
  const body = [
    wordParagraph("知识库", 1),
    wordParagraph("限量", 2),
    wordParagraph("袋鼠的上限是七十二。"),
    wordTable([
      ["name", "limit"],
      ["quokka", "72"],
    ]),
    wordParagraph("Others", 2),
    wordParagraph("None &amp; nothing"),
  ];
  expect(await readDocx(sampleDocx(body.join("")), DOCUMENT_LIMITS)).toEqual([
    { heading: "知识库 > 限量", text: "袋鼠的上限是七十二。\n\n| name | limit\n| quokka | 72" },
    { heading: "知识库 > Others", text: "None & nothing" },
  ]);
});

test.each([
  ["before it begins", 0],
  ["in the middle", 100],
])("an abort %s ends the worker and throws its reason", async (_name, afterMs) => {
  const bytes = Buffer.from("<p>a</p>".repeat(500_000));
  const controller = new AbortController();
  const reason = new Error("no longer wanted");
  if (afterMs === 0) controller.abort(reason);
  else setTimeout(() => controller.abort(reason), afterMs);
  await expect(parseDocument({ bytes, contentType: "text/html", title: "long" }, controller.signal)).rejects.toBe(reason);
  expect(process.getActiveResourcesInfo()).not.toContain("MessagePort");
});

test("a document is read although the process could do nothing else for longer than the limit", async () => {
  const reading = parseSample("text/plain", "words", { timeoutMs: 500 });
  await sleep(50); // the thread has begun to start
  await letOthersRun(); // timers that are over by then are called before the thread's answer is read
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000);
  expect(await reading).toEqual([{ heading: "", text: "words" }]);
});

test("a document whose thread does not answer in time can be read again", async () => {
  await expect(parseSample("text/plain", "words", { timeoutMs: 1 })).rejects.toMatchObject({
    code: "overloaded",
    message: expect.stringContaining('"sample" was not read within'),
  });
});
