import { describe, expect, test } from "@jest/globals";
import { parseDocument } from "../../../memory/parsing/parse-document.ts";
import { DOCX, parseSample, PDF } from "./parse-sample.ts";
import { sampleDocx, wordParagraph, wordTable } from "./sample-docx.ts";
import { chinesePdf, pdfOf, samplePdf } from "./sample-pdf.ts";

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

test("Markdown is cut at its headings, underlined ones too, and not in code, lists or front matter", async () => {
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
  expect(await parseSample("text/markdown", markdown)).toEqual([
    { heading: "", text: "---\ntitle: x\n---\nIntro" },
    { heading: "Guide `v2` > Install", text: "```sh\n# no heading\n```\n- # in a list" },
    { heading: "Guide `v2` > Use", text: "| a | b |\n|---|---|\n| 1 | 2 |" },
    { heading: "", text: "Last words" },
  ]);
});

test("a heading is what a reader sees of it: no badges, no addresses of links", async () => {
  const badge = "[![Weekly downloads](https://x.example/a.svg)](https://x.example/b) ![logo][1]";
  const text = `# Chokidar ${badge}\n\nWatches.\n\n## See [the guide](https://x.example)\n\nMore.`;
  expect((await parseSample("text/markdown", text)).map(({ heading }) => heading)).toEqual(["Chokidar", "Chokidar > See the guide"]);
});

test("a heading of a page's length is cut in the path and kept in the text", async () => {
  const words = "word ".repeat(100).trim();
  const [part] = await parseSample("text/markdown", `# ${words}\n\nText`);
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
    expect(await parseSample("text/html; charset=UTF-8", html)).toEqual([
      { heading: "", text: "Lead with bold snake_case & 1 < 2" },
      { heading: "Animals of Rottnest", text: "- one\n  - inner\n- two" },
      {
        heading: "Animals of Rottnest > Limits",
        text: "| Name | Limit\n| quokka small | 72\n\n```\nif x:\n    y\n\nz\n```\n\nSee the list A map",
      },
    ]);
  });

  test("without a body, or with text after it, loses nothing", async () => {
    expect(await parseSample("text/html", "<p>one</p><body>two</body>three<body>four")).toMatchObject([
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
  ["a header alone", "name,limit\n", ["name\nlimit"]],
  ["a quotation that never ends", 'a,b\n"never, ends', ["a: never, ends"]],
  ["a column called __proto__", "__proto__,constructor\nx,y", ["__proto__: x\nconstructor: y"]],
])("CSV is a part per row, with %s", async (_name, csv, texts) => {
  expect(await parseSample("text/csv", csv)).toEqual(texts.map((text) => ({ heading: "", text })));
});

test.each([
  ["a part per page, with its number", pdfOf("again", { repeatedPages: 2 }), ["again", "again"]],
  ["its lines", samplePdf("BT /F1 18 Tf 20 100 Td (First line) Tj 0 -20 Td (second line) Tj ET"), ["First line\nsecond line"]],
  [
    "Chinese without its font, its sentences whole again",
    chinesePdf(["使用说明", "袋鼠的上限是七十二只并且不得在任何情况", "下超过这个数目。"]),
    ["使用说明\n袋鼠的上限是七十二只并且不得在任何情况下超过这个数目。"],
  ],
  ["the pages it has, when it claims a million", pdfOf("one page", { claimedPages: 1_000_000 }), ["one page"]],
])("PDF is read with %s", async (_name, file, texts) => {
  expect(await parseSample(PDF, file)).toEqual(texts.map((text, index) => ({ heading: "", text, page: index + 1 })));
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
  expect(await parseSample(DOCX, sampleDocx(body.join("")))).toEqual([
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
