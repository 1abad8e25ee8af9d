import { expect, test } from "@jest/globals";
import { parseSample } from "./sample-documents.ts";
import { ODT, PPTX, sampleOdt, samplePptx, sampleXlsx, sheetRow, XLSX } from "./sample-office-files.ts";

test("PPTX is read slide by slide: a passage names its slide", async () => {
  const slides = samplePptx([
    ["Ferries", "They leave at noon."],
    ["限量", "袋鼠的上限是七十二。"],
    ["", "No title &amp; nothing"],
  ]);
  expect(await parseSample(PPTX, slides)).toEqual([
    { heading: "Slide 1 > Ferries", text: "They leave at noon." },
    { heading: "Slide 2 > 限量", text: "袋鼠的上限是七十二。" },
    { heading: "Slide 3", text: "No title & nothing" },
  ]);
});

test("XLSX is read row by row under the names of its sheets, with dates as dates and numbers as Excel shows them", async () => {
  const prices = Array.from({ length: 10 }, (_, n) => sheetRow(n + 3, [`price of ticket ${n}`, 0.1 + 0.2]));
  const limits = [
    sheetRow(1, ["name", "limit", "since", "at"]),
    sheetRow(2, ["quokka", 72, new Date("2024-05-08"), new Date("2024-05-08T12:30:00Z")]),
    sheetRow(4, ["wombat", "", new Date("2025-01-02")]),
    '<row r="5"><c r="B5" t="e"><v>#N/A</v></c></row>', // is left out
    sheetRow(6, ["opens", "", new Date("1899-12-30T06:30:00Z"), new Date("1899-12-31T06:00:05Z")]), // a time, and a span of hours
  ];
  const file = sampleXlsx({
    Limits: limits.join(""),
    价格: sheetRow(1, ["Prices of 2026"]) + sheetRow(2, ["票", "欧元"]) + prices.join(""),
    Empty: "",
  });
  const [first, second, ...more] = await parseSample(XLSX, file);
  expect(first).toEqual({
    heading: "Limits",
    text: "name: quokka\nlimit: 72\nsince: 2024-05-08\nat: 2024-05-08T12:30:00\n\nname: wombat\nsince: 2025-01-02\n\nname: opens\nsince: 06:30:00\nat: 30:00:05",
  });
  expect(second).toMatchObject({
    heading: "价格",
    text: expect.stringMatching(/^Prices of 2026\n\n票: price of ticket 0\n欧元: 0\.3\n\n/) as unknown,
  });
  expect(more).toEqual([]);
});

test("ODT is cut at its headings, with its lists, tables and footnotes", async () => {
  const row = (cells: readonly string[]) =>
    `<table:table-row>${cells.map((cell) => `<table:table-cell><text:p>${cell}</text:p></table:table-cell>`).join("")}</table:table-row>`;
  const note =
    '<text:note text:id="n1" text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>Since May.</text:p></text:note-body></text:note>';
  const body = `<text:p>Lead</text:p><text:h text:outline-level="1">知识库</text:h><text:h text:outline-level="2">限量</text:h>
<text:p>袋鼠的上限是七十二。${note}</text:p><table:table>${row(["name", "limit"])}${row(["quokka", "72"])}</table:table>
<text:h text:outline-level="2">Others</text:h><text:p>None &amp; nothing</text:p>`;
  expect(await parseSample(ODT, sampleOdt(body))).toEqual([
    { heading: "", text: "Lead" },
    {
      heading: "知识库",
      text: "限量\n\n袋鼠的上限是七十二。\n\n| name | limit\n| quokka | 72\n\nOthers\n\nNone & nothing\n\nSince May.",
    },
  ]);
});
